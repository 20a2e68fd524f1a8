// Iterators over what is known.
//   VarRef numbered = std::make_shared<EnumerateIterator>(protocol::iterate(t, list), 0);
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

// Over a tuple or list; of a list that grows meanwhile it sees what is added, as CPython's.
class SequenceIterator : public IteratorVariable {
 public:
  explicit SequenceIterator(VarRef sequence) : sequence_(std::move(sequence)) {}
  VarRef next(Translator& t) const override;
  std::vector<VarRef> parts() const override;
  void rebuild(CodeWriter& w) const override;

 private:
  mutable VarRef sequence_;  // null: the end was seen
  mutable size_t at_ = 0;
};

class EnumerateIterator : public IteratorVariable {
 public:
  EnumerateIterator(VarRef inner, long start) : inner_(std::move(inner)), at_(start) {}
  VarRef next(Translator& t) const override;
  std::vector<VarRef> parts() const override { return {inner_}; }
  void rebuild(CodeWriter& w) const override;

 private:
  VarRef inner_;
  mutable long at_;
};

class ZipIterator : public IteratorVariable {
 public:
  explicit ZipIterator(std::vector<VarRef> inner) : inner_(std::move(inner)) {}
  VarRef next(Translator& t) const override;
  std::vector<VarRef> parts() const override { return inner_; }
  void rebuild(CodeWriter& w) const override;

 private:
  std::vector<VarRef> inner_;
};

// itertools.count(start).
class CountIterator : public IteratorVariable {
 public:
  explicit CountIterator(long start) : at_(start) {}
  VarRef next(Translator& t) const override;

 private:
  mutable long at_;
};

// function(*values) for the values that the inner one gives.
class MapIterator : public IteratorVariable {
 public:
  MapIterator(VarRef function, std::shared_ptr<ZipIterator> inner)
      : function_(std::move(function)), inner_(std::move(inner)) {}
  VarRef next(Translator& t) const override;
  std::vector<VarRef> parts() const override;
  void rebuild(CodeWriter& w) const override;

 private:
  VarRef function_;
  std::shared_ptr<ZipIterator> inner_;
};

}  // namespace torchdyn
