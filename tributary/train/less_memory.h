// Work that needs more memory than a GPU has is done again in pieces (model/pieces.h).
#pragma once

#include <functional>

#include "tributary/model/ensemble.h"

namespace tributary {

// Calls `attempt(piece)` with a `piece` of 0, which means whole batches. As long as the GPU's memory does not suffice,
// the next attempt takes pieces of half as many pictures, from half of `batch` on down to 2; `tell(piece)` hears of it
// before. Returns the piece with which it worked; throws what the last attempt threw if none does.
int64_t until_it_fits(int64_t batch, torch::Device device, const std::function<void(int64_t piece)>& attempt,
                      const std::function<void(int64_t piece)>& tell);

// Lets the backbone take at most `piece` pictures at once; 0: all. TorchScript takes what it is given.
void set_piece(SourceModel& source, int64_t piece);

}  // namespace tributary
