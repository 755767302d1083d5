// Synthetic digits in five domains, for demos and tests without a download.
//
// The domains imitate those of the Digit-Five benchmark. They share the skeletons of the digits and differ in
// everything else, so that a model trained on one domain is only partly right on another:
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

enum class DigitDomain { kHandwriting, kPostal, kTextured, kSigns, kStreet };

// In the order of the enumeration.
const std::vector<std::string>& digit_domain_names();

// Throws an InputError that lists the names if there is no such domain.
DigitDomain digit_domain(const std::string& name);

// Draws `count` RGB pictures of 32 x 32 pixels with classes "0".."9", balanced up to one picture per class, in random
// order. A picture and its label depend on (seed, domain, index) only, and are bitwise equal on every machine: the
// first 100 of 1,000 equal a set of 100.
LabelledImages make_digits(DigitDomain domain, int64_t count, uint64_t seed);

}  // namespace tributary
