/* The C interface of Lacuna: liblacuna.so.
 *
 * Simulate recorded training steps on accelerators that skip zeros, and run the CPU kernels that skip them,
 * from any language that can load a C library. Structured results are JSON, in the schemas of the program's
 * --json (docs/output.md).
 *
 *   lacuna_trace* trace = NULL;
 *   lacuna_result* result = NULL;
 *   char* text = NULL;
 *   if (lacuna_trace_open("step.safetensors", &trace) == LACUNA_OK &&
 *       lacuna_simulate((const lacuna_trace* const[]){trace}, 1, NULL, &result) == LACUNA_OK &&
 *       lacuna_result_text(result, 0, 0, &text) == LACUNA_OK)
 *     puts(text);
 *   else
 *     fprintf(stderr, "%s\n", lacuna_last_error());
 *   lacuna_string_free(text);
 *   lacuna_result_free(result);
 *   lacuna_trace_free(trace);
 *
 * Rules that hold for every function:
 * - A function that can fail returns a lacuna_status. If it is not LACUNA_OK, lacuna_last_error() has one
 * line that says where, what is wrong and what to do, and nothing has been stored in the output arguments.
 * - A string that a function stores in a `char**` belongs to the caller: lacuna_string_free(). A `const
 * char*` belongs to the library.
 * - Text is UTF-8 and ends in a zero byte. A null pointer where none is allowed is LACUNA_BAD_INPUT, never a
 * crash.
 * - Functions ending in _free take null.
 * - Threads: a trace or a result that is complete may be used from any number of threads at once. A builder
 * and a convolution plan belong to one thread at a time. lacuna_last_error() is per thread.
 * - fork(): the library may be used in a forked child, whatever its threads did in the parent. Handles of the
 * parent may be read there, but a call that was running in another thread at the moment of the fork is lost.
 * - Choices (lacuna_role, lacuna_layout, ...) are plain numbers, so that any value may be given; one that is
 * not listed is LACUNA_BAD_INPUT.
 * - Structures with a first member struct_size may grow at the end in later versions: store sizeof there, and
 * zero in whatever is not set (a zero is always the default).
 */
#ifndef LACUNA_H
#define LACUNA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Grows when a function or a structure changes in a way that old callers cannot use. Compare it with
 * lacuna_abi_version() before any other call. */
#define LACUNA_ABI_VERSION 2

typedef enum lacuna_status {
  LACUNA_OK = 0,
  LACUNA_BAD_INPUT = 1, /* a file, a name or a value that the caller can put right */
  LACUNA_CANCELLED = 2, /* the progress callback or the flag asked for it */
  LACUNA_NO_MEMORY = 3,
  LACUNA_INTERNAL = 4 /* a defect of the library */
} lacuna_status;

int lacuna_abi_version(void);
const char* lacuna_version(void); /* "0.1.0" */
/* Of the last call in this thread that failed; "" if none has. Valid until the next call in this thread. */
const char* lacuna_last_error(void);
void lacuna_string_free(char* text);

/* ---- What can be simulated ---- */

/* As `lacuna arch list --json`. */
lacuna_status lacuna_machines_json(char** json);
/* Every parameter of a machine with unit, default, range and source, as `lacuna arch show NAME --json`. */
lacuna_status lacuna_parameters_json(const char* machine, char** json);

/* ---- Traces: recorded training steps ---- */

typedef struct lacuna_trace lacuna_trace;
typedef struct lacuna_builder lacuna_builder;

/* A .safetensors, a .safetensors.zst or a folder of .npy files. It is read into memory, so that the trace
 * stays as it is whatever happens to the file. */
lacuna_status lacuna_trace_open(const char* path, lacuna_trace** trace);
/* Writes a .safetensors, or a .safetensors.zst if the name ends in .zst: whole or not at all. */
lacuna_status lacuna_trace_write(const lacuna_trace* trace, const char* path);
/* Layers, zeros and the potential of skipping them, as `lacuna inspect --json`. */
lacuna_status lacuna_trace_inspect_json(const lacuna_trace* trace, char** json);
size_t lacuna_trace_layer_count(const lacuna_trace* trace); /* 0 for null */
/* The shares of zeros of A, W and G of a layer, by its place in the trace. */
lacuna_status lacuna_trace_layer_zeros(const lacuna_trace* trace, size_t layer, double zeros[3]);
/* The share of zeros of A as the forward product multiplies it: of A itself where the layer has no other. */
lacuna_status lacuna_trace_layer_forward_zeros(const lacuna_trace* trace, size_t layer, double* zeros);
void lacuna_trace_free(lacuna_trace* trace);

/* LACUNA_A_FORWARD: A as the forward product multiplies it, where weight_grad multiplies another. */
enum { LACUNA_A = 0, LACUNA_W = 1, LACUNA_G = 2, LACUNA_A_FORWARD = 3 };
typedef int lacuna_role;

/* A trace from arrays. `metadata_json` is an object with the keys of a trace's metadata
 * (docs/trace-format.md): "model" at least, and any of dataset, batch, samples, progress, epoch, accuracy,
 * loss, left_out; values are strings or numbers. */
lacuna_status lacuna_builder_new(const char* name, const char* metadata_json, lacuna_builder** builder);
/* Starts a layer, described by an object as in the list `layers` of the metadata. What follows belongs to it.
 */
lacuna_status lacuna_builder_layer(lacuna_builder* builder, const char* layer_json);
/* The non-zeros of an operand with its channels last, one bit each, the first channel in the lowest bit of
 * the first byte; every row of channels starts a new byte. The bytes are copied. An operand that is never
 * given has no zeros. */
lacuna_status lacuna_builder_mask(lacuna_builder* builder, lacuna_role role, const uint8_t* bits,
                                  size_t bytes);
/* The operand's values, channels last; the zeros among them are its mask. They are copied. */
lacuna_status lacuna_builder_values(lacuna_builder* builder, lacuna_role role, const float* values,
                                    size_t count);
/* The builder is empty afterwards, whether it succeeds or not; free it all the same. */
lacuna_status lacuna_builder_finish(lacuna_builder* builder, lacuna_trace** trace);
void lacuna_builder_free(lacuna_builder* builder);
/* The same in one call: `layers_json` is the whole list, `masks` has three entries per layer (A, W, G; null:
 * no zeros) and `bytes` their sizes. */
lacuna_status lacuna_trace_of_masks(const char* name, const char* metadata_json, const char* layers_json,
                                    const uint8_t* const* masks, const size_t* bytes, size_t count,
                                    lacuna_trace** trace);

/* ---- Simulation ---- */

typedef struct lacuna_result lacuna_result;

/* Called now and then with the share of the work done, 0..1, from any thread but never from two at once. A
 * value other than zero cancels the simulation. */
typedef int (*lacuna_progress)(double share, void* user);

typedef struct lacuna_simulate_options {
  size_t struct_size;
  const char* const* machines; /* names of lacuna_machines_json(); none at all: the default machine */
  size_t machine_count;
  const char* const* configs; /* YAML files that describe machines */
  size_t config_count;
  const char* const* settings; /* "key=value" of every machine that has it, "NAME.key=value" of one */
  size_t setting_count;
  const char* engine; /* "fast" (null means the same) or "functional" */
  uint64_t seed;      /* of the values that the functional engine draws; 0 means 1, the program's default */
  int threads;        /* 0: all cores. Results do not depend on it */
  int energy;         /* other than zero: also energy, power and area */
  const char* energy_table; /* a built-in table or a file; null: the one that each machine names */
  int node_nm;              /* 0: the table's own */
  lacuna_progress progress; /* may be null */
  void* user;               /* handed to it */
  const int* cancel;   /* may be null; other than zero there, set by any thread, cancels the simulation */
  unsigned operations; /* which to run: 1 forward, 2 input_grad, 4 weight_grad, or a sum; 0 means all three */
} lacuna_simulate_options;

/* Every trace on every machine. `options` may be null. The result keeps the traces alive: they may be freed.
 */
lacuna_status lacuna_simulate(const lacuna_trace* const* traces, size_t count,
                              const lacuna_simulate_options* options, lacuna_result** result);
void lacuna_result_free(lacuna_result* result);

/* The totals of a run, of a training step with its whole batch; numbers that are not known are NaN. For
 * callers that simulate often: everything else is in the JSON. */
typedef struct lacuna_totals {
  size_t struct_size;
  const char* machine;    /* belongs to the result */
  size_t trace;           /* which of the traces that were given */
  double baseline_cycles; /* of the machine that this one is compared with */
  double cycles;
  double cycles_without_zeros; /* if no value were zero */
  double baseline_joules, joules;
  double baseline_seconds, seconds;
} lacuna_totals;

size_t lacuna_result_count(
    const lacuna_result* result); /* traces x machines, machines varying fastest; 0 for null */
lacuna_status lacuna_result_totals(const lacuna_result* result, size_t run, lacuna_totals* totals);

/* As `lacuna simulate --json`; `layers` other than zero: with the energy of each layer (--layers). */
lacuna_status lacuna_result_json(const lacuna_result* result, int layers, char** json);
/* As `lacuna simulate --csv`. */
lacuna_status lacuna_result_csv(const lacuna_result* result, char** csv);
/* The tables as the program prints them into a pipe; `layers`: with a row per layer. `width`: columns that a
 * table may take before it continues below; 0 means 100. */
lacuna_status lacuna_result_text(const lacuna_result* result, int layers, int width, char** text);
/* The page of --html: one document that needs nothing else. `command` is shown on it and may be null.
 * LACUNA_BAD_INPUT if the library was built without it (npm was missing). */
lacuna_status lacuna_result_html(const lacuna_result* result, const char* command, char** html);
lacuna_status lacuna_result_write_html(const lacuna_result* result, const char* command, const char* path);

/* ---- Convolutions that skip zeros ---- */

typedef struct lacuna_conv lacuna_conv;

enum { LACUNA_FORWARD = 0, LACUNA_INPUT_GRAD = 1, LACUNA_WEIGHT_GRAD = 2 };
typedef int lacuna_operation;
/* auto: sparse or dense, whichever is expected to be faster for this call. */
enum {
  LACUNA_IMPL_AUTO = 0,
  LACUNA_IMPL_SPARSE = 1,
  LACUNA_IMPL_DENSE = 2,     /* oneDNN, direct */
  LACUNA_IMPL_ONEDNN = 3,    /* oneDNN, its own choice */
  LACUNA_IMPL_REFERENCE = 4, /* slow */
  /* dense, the operands rounded to bfloat16, sums in single precision: channels-last or blocked tensors with
     multiples of 16 channels, plain weights that are not ohwi. LACUNA_BAD_INPUT where the CPU has none */
  LACUNA_IMPL_BFLOAT16 = 5
};
typedef int lacuna_impl;
/* blocked: nChw16c, channels past the last are zero. */
enum { LACUNA_NCHW = 0, LACUNA_NHWC = 1, LACUNA_BLOCKED = 2 };
typedef int lacuna_layout;
/* The operand whose zeros are skipped: activations (A) by default, gradients (G) for input_grad. weight_grad
 * by weights (W) computes the gradients of the non-zero weights alone, whichever implementation runs. */
enum { LACUNA_OPERAND_DEFAULT = 0, LACUNA_OPERAND_A = 1, LACUNA_OPERAND_G = 2, LACUNA_OPERAND_W = 3 };
typedef int lacuna_operand;

typedef struct lacuna_conv_options {
  size_t struct_size;
  int64_t batch, in_channels, out_channels;
  int64_t input_hw[2], kernel[2];
  int64_t stride[2]; /* 0 means 1 */
  int64_t padding[2];
  int64_t dilation[2]; /* 0 means 1 */
  int64_t groups;      /* 0 means 1 */
  lacuna_operation op;
  lacuna_impl impl;
  lacuna_layout layout;
  lacuna_operand skipped;
  int threads;        /* 0 means 1 */
  int bias, relu;     /* forward only */
  int strict;         /* Inf and NaN in the other operand are looked for, and then nothing is skipped */
  int allow_winograd; /* auto: the dense choice may be Winograd, whose rounding errors are larger */
  int ohwi_weights;   /* other than zero: plain weights are [out][kh][kw][in / groups], as channels-last has
                         them */
  int linear; /* other than zero: a linear layer, `batch` rows; input, kernel and what follows are ignored */
  int borrow_workspace; /* other than zero: the plan allocates none, each run is given one. Plans that run one
                           after the other can share it */
} lacuna_conv_options;

/* Plans once, runs many times. */
lacuna_status lacuna_conv_plan(const lacuna_conv_options* options, lacuna_conv** conv);
void lacuna_conv_free(lacuna_conv* conv);
/* Floats of the tensors; any of the three may be null. */
lacuna_status lacuna_conv_sizes(const lacuna_conv* conv, int64_t* src, int64_t* dst, int64_t* weights);
/* Bytes of its workspace, 0 for null. */
size_t lacuna_conv_workspace(const lacuna_conv* conv);
/* The name of the kernel that the plan holds, "window avx512"; valid as long as the plan. Null for a null
 * plan. */
const char* lacuna_conv_kernel(const lacuna_conv* conv);

/* The tensors of the operation, aligned to 64 bytes where blocked; the others stay null. */
typedef struct lacuna_conv_tensors {
  size_t struct_size;
  const float* src;      /* forward, weight_grad */
  const float* weights;  /* [out][in / groups][kh][kw], or as ohwi_weights says: forward, input_grad, and
                            weight_grad that skips W */
  const float* bias;     /* forward, with options.bias */
  const float* diff_dst; /* input_grad, weight_grad */
  float* dst;            /* forward */
  float* diff_src;       /* input_grad */
  float* diff_weights;   /* weight_grad */
  void* workspace;       /* with options.borrow_workspace: lacuna_conv_workspace() bytes, aligned to 64 */
} lacuna_conv_tensors;

typedef struct lacuna_conv_report {
  size_t struct_size;
  lacuna_impl used; /* LACUNA_IMPL_DENSE also for other dense kernels that auto chose */
  double zeros;     /* the share of zeros that the choice was based on; -1: nothing was counted */
} lacuna_conv_report;

/* `zeros`: the share of zeros of the skipped operand if it is known, else -1. `report` may be null. */
lacuna_status lacuna_conv_run(lacuna_conv* conv, const lacuna_conv_tensors* tensors, double zeros,
                              lacuna_conv_report* report);
/* The share of zeros of `count` floats (0 or more), from a sample that takes microseconds. */
lacuna_status lacuna_sample_zeros(const float* data, int64_t count, double* share);

/* ---- Feed-forward blocks with zeros: up -> activation -> down ---- */

typedef struct lacuna_ffn lacuna_ffn;
/* What a forward pass keeps for its backward pass: lists of the non-zero hidden values. */
typedef struct lacuna_ffn_pass lacuna_ffn_pass;

/* thresholded: a hidden value that is not greater than the threshold becomes zero. */
enum { LACUNA_RELU = 0, LACUNA_RELU_SQUARED = 1, LACUNA_THRESHOLDED = 2 };
typedef int lacuna_activation;

typedef struct lacuna_ffn_options {
  size_t struct_size;
  int64_t in_features, hidden, out_features;
  lacuna_activation activation;
  float threshold; /* of LACUNA_THRESHOLDED, at least 0 */
  int threads;     /* 0 means 1 */
} lacuna_ffn_options;

/* A block and a pass belong to one thread at a time. A pass may be used again, by any block: its memory is
 * reused. */
lacuna_status lacuna_ffn_plan(const lacuna_ffn_options* options, lacuna_ffn** ffn);
void lacuna_ffn_free(lacuna_ffn* ffn);
lacuna_status lacuna_ffn_pass_new(lacuna_ffn_pass** pass);
void lacuna_ffn_pass_free(lacuna_ffn_pass* pass);

/* Row-major; weights as PyTorch's linear layers have them. `up` forward is the caller's: a dense product. */
typedef struct lacuna_ffn_tensors {
  size_t struct_size;
  const float* hidden;      /* forward: outputs of up, [token][hidden]; not needed afterwards */
  const float* down;        /* forward: [out][hidden] */
  const float* down_bias;   /* forward: [out], or null */
  float* output;            /* forward: [token][out] */
  const float* output_grad; /* backward: [token][out] */
  const float* input;       /* backward, for up_grad: [token][in] */
  const float* up;          /* backward, for input_grad: [hidden][in] */
  float* input_grad;        /* results of backward; null: not computed */
  float* up_grad;
  float* up_bias_grad;
  float* down_grad;
} lacuna_ffn_tensors;

/* `zeros` may be null: the share of hidden values that the activation made zero. */
lacuna_status lacuna_ffn_forward(const lacuna_ffn* ffn, int64_t tokens, const lacuna_ffn_tensors* tensors,
                                 lacuna_ffn_pass* pass, double* zeros);
lacuna_status lacuna_ffn_backward(lacuna_ffn* ffn, lacuna_ffn_pass* pass, const lacuna_ffn_tensors* tensors);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
