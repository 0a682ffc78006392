// Keras's layers that prepare data, which datasets do here, and others that other words do for
#include <map>

#include "config/lookup.h"
#include "config/names.h"
#include "model/activations/activation.h"
#include "model/layers/layer.h"

namespace meshwork::layers {
namespace {

constexpr const char* kAugment =
    "give the field of the dataset 'augment', which is for training alone";

constexpr const char* kNumbers =
    "give a column of a table 'classes', which numbers what stands in it";
constexpr const char* kStored = "store what it would give, as numbers";
constexpr const char* kMix = "give the dataset 'mix', which is for training alone";

const std::map<std::string_view, const char*> kRemedies{
    {"AutoContrast", kAugment},
    {"CategoryEncoding", "give the field of the dataset 'one_hot'"},
    {"CenterCrop", "store images cropped, or give the dataset crop_to_aspect_ratio: true"},
    {"CutMix", kMix},
    {"Discretization", kStored},
    {"Equalization", kAugment},
    {"HashedCrossing", kStored},
    {"Hashing", kStored},
    {"IntegerLookup", kNumbers},
    {"MelSpectrogram", kStored},
    {"MixUp", kMix},
    {"RandAugment", kAugment},
    {"RandomBrightness", kAugment},
    {"RandomColorDegeneration", kAugment},
    {"RandomColorJitter", kAugment},
    {"RandomContrast", kAugment},
    {"RandomCrop", kAugment},
    {"RandomErasing", kAugment},
    {"RandomFlip", kAugment},
    {"RandomGaussianBlur", kAugment},
    {"RandomGrayscale", kAugment},
    {"RandomHue", kAugment},
    {"RandomInvert", kAugment},
    {"RandomPerspective", kAugment},
    {"RandomPosterization", kAugment},
    {"RandomRotation", kAugment},
    {"RandomSaturation", kAugment},
    {"RandomSharpness", kAugment},
    {"RandomShear", kAugment},
    {"RandomTranslation", kAugment},
    {"RandomZoom", kAugment},
    {"Resizing", "give a dataset of image files 'image_size', or store arrays in that size"},
    {"STFTSpectrogram", kStored},
    {"Solarization", kAugment},
    {"StringLookup", kNumbers},
    {"TextVectorization",
     "to classify texts, give the column of a table (format: csv) a 'tokenizer' and a 'length'; a "
     "dataset of format text turns texts into tokens for a language model"}};

constexpr const char* kApplication =
    "save it with Keras, and meshwork import writes its layers down, whose weights --from reads";
constexpr const char* kConvolutionalLstm =
    "put TimeDistributed around a convolution, and LSTM behind its features";
constexpr const char* kPermute = "take Permute: {dims: [2, 1]}, which counts the batch as 0";
constexpr const char* kReshape = "take Reshape";

const std::map<std::string_view, const char*> kOtherWords{
    {"Cast", "a layer gives the floats of its dtype, whatever it takes: leave it out"},
    {"Concat", "take Concatenate"},
    {"ConvLSTM1D", kConvolutionalLstm},
    {"ConvLSTM2D", kConvolutionalLstm},
    {"ConvLSTM3D", kConvolutionalLstm},
    {"DenseNet121", kApplication},
    {"DepthToSpace",
     "write Reshape: [height, width, n, n, channels], Permute: [1, 3, 2, 4, 5], Reshape: [height "
     "n, width n, channels]"},
    {"EfficientNetB0", kApplication},
    {"ExpandDims", kReshape},
    {"InceptionV3", kApplication},
    {"Lambda",
     "write what it computes as layers and operations: Square, Sum, GetItem, Rescaling, Add, "
     "Multiply, Reshape, .."},
    {"Matmul", "take Dot: {axes: [2, 1]}, of two inputs"},
    {"MobileNet", kApplication},
    {"MobileNetV2", kApplication},
    {"Moveaxis", kPermute},
    {"Normalize", "take UnitNormalization"},
    {"Pad", "take ZeroPadding1D, 2D or 3D"},
    {"RNN", "take LSTM, GRU or SimpleRNN, each with its own cell"},
    {"ResNet101", kApplication},
    {"ResNet50", kApplication},
    {"ResNet50V2", kApplication},
    {"Sampling", "draw by a GaussianNoise of zeros, as vae.yaml among the configurations does"},
    {"SpectralNormalization", "a kernel_constraint, such as UnitNorm, bounds kernels, too"},
    {"Squeeze", kReshape},
    {"Swapaxes", kPermute},
    {"Transpose", kPermute},
    {"VGG16", kApplication},
    {"VGG19", kApplication},
    {"Xception", kApplication}};

}  // namespace

void refuse_known_layer(const config::ClassSpec& layer) {
  const auto other = kOtherWords.find(layer.name);
  if (other != kOtherWords.end()) {
    fail_at(layer.at, "there is no layer {} here; {}", layer.name, other->second);
  }
  const std::string activation = snake_case(layer.name);
  const bool is_layer = config::find_named(layer_registry(), layer.name) != nullptr;
  if (!is_layer && config::find_named(activation_registry(), activation) != nullptr) {
    fail_at(layer.at, "there is no layer {} here; take Activation: {{activation: {}}}", layer.name,
            activation);
  }
  const auto remedy = kRemedies.find(layer.name);
  if (remedy == kRemedies.end()) return;
  fail_at(layer.at, "layer {} prepares data, which a model here does not; {}", layer.name,
          remedy->second);
}

}  // namespace meshwork::layers
