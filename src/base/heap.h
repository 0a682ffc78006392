#pragma once

namespace meshwork {

/// Large blocks that the program frees go back to the system at once, and count no longer as
/// resident. Left to itself the C library of GNU keeps blocks of up to 32 MB once one of that size
/// has been freed: unpacking a data set would stay in the books for the whole run.
void give_back_large_blocks();

}  // namespace meshwork
