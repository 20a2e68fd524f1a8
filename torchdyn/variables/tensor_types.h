// torch.FloatTensor and its kin: a dtype and a type of device.
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

// Tensor.type(): the name of its type, or the tensor as one of another type.
VarRef call_type(Translator& t, const VarRef& tensor, const CallArgs& args);

}  // namespace torchdyn
