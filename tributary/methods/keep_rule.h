// Which round of an adaptation is its result (docs/method.md, Which round is kept).
#pragma once

namespace tributary {

enum class KeepRule {
  kAuto,       // the method's default (MethodEntry::default_keep)
  kLabelFree,  // the latest round that the label-free judgement does not reject
  kLast,
};

}  // namespace tributary
