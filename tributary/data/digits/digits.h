// Digits in five domains, drawn by the program itself: data to try everything on without a download.
//
// The domains stand in for the five of the Digit-Five benchmark. They share the skeletons of the ten digits and differ
// in everything else, so that a model trained on one is right on another only in part, and can be adapted:
//   handwriting  a white pen on black                                     (as MNIST)
//   postal       coarse grey scans, thick strokes that fill the frame     (as USPS)
//   textured     handwriting blended into colour photographs of nothing   (as MNIST-M)
//   signs        print in colour on colour, with neighbours               (as SynthDigits)
//   street       house numbers: tilted, shaded, blurred, noisy            (as SVHN)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/image_set.h"

namespace tributary {

// The five domains, in the order of the tables.
enum class DigitDomain { kHandwriting, kPostal, kTextured, kSigns, kStreet };

// The names of the domains, in the order of the enumeration.
const std::vector<std::string>& digit_domain_names();

// The domain of that name; an InputError that lists the names if there is none.
DigitDomain digit_domain(const std::string& name);

// `count` pictures of 32 x 32 in RGB with classes "0".."9", as many of each class as of any other up to one, in random
// order. A picture and its label depend on (seed, domain, index) alone, and are equal to the last bit on every machine:
// the first 100 of 1,000 are the 100 of a smaller set.
LabelledImages make_digits(DigitDomain domain, int64_t count, uint64_t seed);

}  // namespace tributary
