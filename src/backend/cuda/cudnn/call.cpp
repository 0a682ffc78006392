#include "backend/cuda/cudnn/call.h"

#include <fmt/format.h>

#include <memory>

namespace meshwork::cuda::cudnn {
namespace {

/// A plan with its pointers; those of numbers are read when it is enqueued.
class Call {
 public:
  Call(Gpu& gpu, const Session& session, const Plan& plan, Places places, std::string_view what)
      : gpu_(gpu),
        session_(session),
        plan_(plan),
        places_(std::move(places)),
        what_(fmt::format("enqueuing {}", what)),
        pointers_(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    std::vector<std::int64_t> ids;
    std::vector<void*> data;
    for (const Places::InMemory& tensor : places_.in_memory) {
      ids.push_back(tensor.id);
      data.push_back(tensor.data);
    }
    for (Places::ByValue& number : places_.by_value) {
      ids.push_back(number.id);
      data.push_back(&number.value);
    }
    pointers_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    pointers_.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                      static_cast<std::int64_t>(data.size()), data.data());
    pointers_.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, places_.workspace);
    pointers_.finalize();
  }

  void enqueue() const {
    gpu_.make_current();
    check(functions().cudnnBackendExecute(session_.handle(), plan_.plan().get(), pointers_.get()),
          what_);
  }

 private:
  Gpu& gpu_;
  const Session& session_;
  const Plan& plan_;
  Places places_;
  std::string what_;
  Descriptor pointers_;
};

}  // namespace

std::optional<Launch> launch(CudaStream& stream, const Problem& problem, Places places,
                             std::string_view what) {
  Session* const session = Session::of(stream);
  if (session == nullptr) return std::nullopt;
  stream.gpu().make_current();
  const Plan* const plan = session->plan(problem);
  if (plan == nullptr) return std::nullopt;
  const auto call =
      std::make_shared<const Call>(stream.gpu(), *session, *plan, std::move(places), what);
  return [call] { call->enqueue(); };
}

}  // namespace meshwork::cuda::cudnn
