// The passes of this instruction set. Included last, inside the unnamed namespace of its file.

constexpr Passes table(const char* isa) {
  return {
      .isa = isa,
      .moments = moments,
      .normalize = normalize,
      .norm_sums = norm_sums,
      .norm_gradient = norm_gradient,
      .relu = relu,
      .relu_gradient = relu_gradient,
      .max_pool = max_pool,
      .max_pool_gradient = max_pool_gradient,
      .sgd = sgd,
  };
}
