#include "tributary/methods/ma/ma_step.h"

#include <torch/csrc/autograd/autograd.h>

#include <set>

#include "tributary/adapt/information.h"
#include "tributary/base/error.h"
#include "tributary/checkpoint/checkpoint.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/ma/generation.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/device_images.h"

namespace tributary {
namespace {

constexpr AdamOptions kAdversarialAdam = {0.5, 0.999, 1e-8};

int64_t classes_of(const SourceModel& source) {
  return static_cast<int64_t>(source.info().classes.size());
}

LayeredSource& layers_of(SourceModel& source) {
  if (!source.layered())
    input_error("{}: MA generates features, which TorchScript sources do not accept", source.info().name);
  return *source.layered();
}

ClassGenerator make_generator(SourceModel& source, MaSpace space, const Random& init) {
  return space == MaSpace::kImage ? ClassGenerator::of_pictures(classes_of(source), init, source.device())
                                  : ClassGenerator::of_features(classes_of(source), layers_of(source).backbone_width(),
                                                                init, source.device());
}

SpectralDiscriminator make_discriminator(SourceModel& source, MaSpace space, const Random& init) {
  return space == MaSpace::kImage
             ? SpectralDiscriminator::of_pictures(init, source.device())
             : SpectralDiscriminator::of_features(layers_of(source).backbone_width(), init, source.device());
}

NamedTensors trainable(NamedTensors parameters) {
  for (NamedTensor& parameter : parameters) parameter.value.set_requires_grad(true);
  return parameters;
}

NamedTensors head_of(const SourceModel& source) {
  NamedTensors head = source.bottleneck_parameters();
  for (const NamedTensor& parameter : source.classifier_parameters()) head.push_back(parameter);
  return head;
}

std::vector<Tensor> clones(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

// The buffers of a model.
std::vector<Tensor> buffers_of(const SourceModel& source) {
  std::set<std::string> parameters;
  for (const NamedTensors& part :
       {source.backbone_parameters(), source.bottleneck_parameters(), source.classifier_parameters()})
    for (const NamedTensor& parameter : part) parameters.insert(parameter.name);
  std::vector<Tensor> buffers;
  for (const NamedTensor& tensor : source.state())
    if (!parameters.contains(tensor.name)) buffers.push_back(tensor.value);
  return buffers;
}

void assign(const std::vector<Tensor>& to, const std::vector<Tensor>& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
}

}  // namespace

MaStep::MaStep(SourceModel& source, const MaNumbers& numbers, const Random& init)
    : source_(source),
      numbers_(numbers),
      classes_(classes_of(source)),
      generator_(make_generator(source, numbers.space, init.child(0))),
      discriminator_(make_discriminator(source, numbers.space, init.child(1))),
      generator_optimiser_({{generator_.parameters(), numbers.rate_generator}}, kAdversarialAdam),
      discriminator_optimiser_({{discriminator_.tensors().parameters, numbers.rate_discriminator}}, kAdversarialAdam),
      predictor_optimiser_({{trainable(source.backbone_parameters()), numbers.rate_backbone},
                            {trainable(head_of(source)), numbers.rate_head}},
                           {}),
      predictor_sgd_({{source.backbone_parameters(), numbers.rate_backbone}, {head_of(source), numbers.rate_head}},
                     {/*momentum=*/0.9, /*weight_decay=*/0, /*nesterov=*/false}),
      origin_(clones(predictor_optimiser_.parameters())),
      statistics_(buffers_of(source)),
      statistics_before_(clones(statistics_)),
      statistics_after_(clones(statistics_)) {
  TRIBUTARY_CHECK(numbers.space != MaSpace::kAuto, "the sample space is not resolved");
}

std::vector<std::string> MaStep::losses() {
  return {"discriminator", "adversarial", "semantic", "generated", "weights", "entropy", "virtual", "marginal_entropy"};
}

NamedTensors MaStep::state() const {
  const TensorList judge = discriminator_.tensors();
  return joined_state({{"generator", generator_.parameters()},
                       {"discriminator", judge.parameters},
                       {"singular_vectors", judge.buffers},
                       {"generator_optimiser", generator_optimiser_.state()},
                       {"discriminator_optimiser", discriminator_optimiser_.state()},
                       {"predictor_optimiser", predictor_optimiser_.state()},
                       {"predictor_descent", predictor_sgd_.state()}});
}

Tensor MaStep::begin(const Tensor& pixels, DropoutStream& target) {
  {
    torch::NoGradGuard no_grad;
    assign(statistics_before_, statistics_);
  }
  const MixedPrecision precision(numbers_.mixed, pixels.device());
  const Tensor x = normalise(pixels, source_.info().normalisation);
  if (numbers_.space == MaSpace::kImage) return x;
  return source_.layered()->backbone_features(x, &target).to(torch::kFloat32);
}

MaDraw MaStep::draw(int64_t count, DropoutStream& dropout_stream) const {
  const Tensor labels = classes_from_normals(dropout_stream.normal({count}), classes_);
  return {labels, dropout_stream.normal({count, generator_.z_width()})};
}

Tensor MaStep::generate(const MaDraw& draw) const {
  const MixedPrecision precision(numbers_.mixed, draw.z.device());
  const Tensor made = generator_(hard_weights(draw.labels, classes_), draw.z).to(torch::kFloat32);
  // From -1..1 to the network's normalised scale, which is the same for digits.
  return numbers_.space == MaSpace::kImage ? normalise((made + 1) / 2, source_.info().normalisation) : made;
}

Tensor MaStep::predict(const Tensor& samples, DropoutStream* dropout_stream, bool mixed) const {
  const MixedPrecision precision(mixed, samples.device());
  const Tensor phi = numbers_.space == MaSpace::kImage
                         ? source_.features(samples, dropout_stream)
                         : source_.layered()->bottleneck_features(samples, dropout_stream);
  return source_.classify(phi).to(torch::kFloat32);
}

Tensor MaStep::judge(const Tensor& samples, const std::vector<Tensor>& weights) const {
  const MixedPrecision precision(numbers_.mixed, samples.device());
  return discriminator_.logit(samples, weights).to(torch::kFloat32);
}

MaGradients MaStep::discriminator_gradients(const Tensor& real, const MaDraw& draw) {
  Tensor generated;
  {
    torch::NoGradGuard no_grad;
    generated = generate(draw);
  }
  discriminator_.iterate();
  const std::vector<Tensor> weights = discriminator_.weights();
  const Tensor loss = discriminator_loss(judge(real.detach(), weights), judge(generated, weights));
  return {loss.detach().view({1}), torch::autograd::grad({loss}, discriminator_optimiser_.parameters())};
}

MaGradients MaStep::generator_gradients(const MaDraw& draw) {
  const Tensor generated = generate(draw);
  const Tensor adversarial = generator_loss(judge(generated, discriminator_.weights()), numbers_.saturating);
  // Evaluation mode, so that generated samples do not update the running statistics.
  const Tensor semantic = at::cross_entropy_loss(predict(generated, nullptr, numbers_.mixed), draw.labels);
  // Only the generator's parameters get a gradient, not those of predictor and discriminator.
  return {
      at::stack({adversarial.detach(), semantic.detach()}),
      torch::autograd::grad({adversarial + numbers_.lambda_semantic * semantic}, generator_optimiser_.parameters())};
}

MaGradients MaStep::predictor_gradients(const Tensor& real, const MaDraw& draw, const Tensor& start, const Tensor& ramp,
                                        DropoutStream& generated, DropoutStream& target) {
  Tensor fakes;
  {
    torch::NoGradGuard no_grad;
    fakes = generate(draw);
  }
  const size_t drawn_before = target.drawn().size();
  const Tensor logits = predict(real, &target, numbers_.mixed);
  const std::vector<Tensor> masks(target.drawn().begin() + static_cast<ptrdiff_t>(drawn_before), target.drawn().end());
  {
    // Real samples alone move the running statistics.
    torch::NoGradGuard no_grad;
    assign(statistics_after_, statistics_);
  }
  const Tensor of_fakes =
      predict(fakes, numbers_.generated_batch_norm == MaBatchNorm::kTrain ? &generated : nullptr, numbers_.mixed);
  // With the dropout masks of the pass above, so that predictions differ by the perturbation alone.
  const auto predict_alike = [&](const Tensor& samples, bool mixed) {
    DropoutStream same(masks, real.device());
    return predict(samples, &same, mixed);
  };
  // In full precision: the probe changes a pixel by less than the resolution of bfloat16.
  const Tensor change = virtual_adversarial_change(real, logits, start, numbers_.adversary, [&](const Tensor& samples) {
    return predict_alike(samples, /*mixed=*/false);
  });
  const Tensor from_generated = at::cross_entropy_loss(of_fakes, draw.labels);
  const Tensor distance = squared_distance(predictor_optimiser_.parameters(), origin_);
  const Tensor entropies = prediction_entropy(logits);
  const Tensor divergence = prediction_divergence(logits, predict_alike(real + change, numbers_.mixed));
  const Tensor ramped =
      numbers_.lambda_generated * from_generated + numbers_.lambda_clustering * (entropies + divergence);
  const Tensor total = ramp * ramped + numbers_.lambda_weights * distance;
  const Tensor marginal = entropy(logits.detach().softmax(1).mean(0), 0);
  return {at::stack({from_generated.detach(), distance.detach(), entropies.detach(), divergence.detach(), marginal}),
          torch::autograd::grad({total}, predictor_optimiser_.parameters())};
}

void MaStep::step_predictor(const MaGradients& computed, const Tensor& rate_factor, const Tensor& active) {
  torch::NoGradGuard no_grad;
  const std::vector<Tensor>& parameters = predictor_optimiser_.parameters();
  if (numbers_.optimiser == MaOptimiser::kAdam) {
    predictor_optimiser_.step(computed.gradients, rate_factor, active);
  } else {
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = computed.gradients[i] * active;
    predictor_sgd_.step(rate_factor);
    predictor_sgd_.zero_gradients();
  }
  // Only after the backward pass: changing the running statistics in place earlier would invalidate it.
  const Tensor on = active > 0;
  for (size_t i = 0; i < statistics_.size(); ++i)
    statistics_[i].copy_(at::where(on, statistics_after_[i], statistics_before_[i]));
}

Tensor MaStep::run(const Tensor& pixels, const Tensor& rate_factor, const Tensor& ramp,
                   std::vector<DropoutStream>& dropout_stream) {
  const int64_t count = pixels.size(0);
  const Tensor real = begin(pixels, dropout_stream[kTarget]);
  const MaGradients of_discriminator = discriminator_gradients(real, draw(count, dropout_stream[kDraws]));
  step_discriminator(of_discriminator);
  const MaGradients of_generator = generator_gradients(draw(count, dropout_stream[kDraws]));
  step_generator(of_generator);
  const MaDraw last = draw(count, dropout_stream[kDraws]);
  const Tensor start = dropout_stream[kDraws].normal(real.sizes());
  const MaGradients of_predictor =
      predictor_gradients(real, last, start, ramp, dropout_stream[kGenerated], dropout_stream[kTarget]);
  step_predictor(of_predictor, rate_factor, (ramp > 0).to(torch::kFloat32));
  return at::cat({of_discriminator.losses, of_generator.losses, of_predictor.losses});
}

}  // namespace tributary
