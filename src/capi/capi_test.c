/* Every function of lacuna.h from C: capi_test PART DATA WORK, where DATA is the repository's data/ and WORK
 * a folder to write to. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi/lacuna.h"

static const char* data_folder;
static const char* work_folder;

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              lacuna_last_error());                                                            \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)
#define CHECK_OK(call) CHECK((call) == LACUNA_OK)
/* The call fails with this status, and the message holds `words`. */
#define CHECK_FAILS(call, status, words)                 \
  do {                                                   \
    CHECK((call) == (status));                           \
    CHECK(strstr(lacuna_last_error(), (words)) != NULL); \
    CHECK(strchr(lacuna_last_error(), '\n') == NULL);    \
  } while (0)

static int holds(const char* text, const char* part) { return strstr(text, part) != NULL; }

static void path_of(char* path, size_t size, const char* folder, const char* name) {
  snprintf(path, size, "%s/%s", folder, name);
}

static const char* const kLayer =
    "{\"name\": \"conv1\", \"type\": \"conv2d\", \"in_channels\": 16, \"out_channels\": 16, \"kernel\": [3, "
    "3],"
    " \"stride\": [1, 1], \"padding\": [1, 1], \"dilation\": [1, 1], \"groups\": 1, \"batch\": 1,"
    " \"input_hw\": [8, 8], \"output_hw\": [8, 8]}";
static const char* const kSecond =
    "{\"name\": \"fc\", \"type\": \"linear\", \"in_features\": 16, \"out_features\": 10, \"batch\": 4}";

static lacuna_trace* small_trace(void) {
  lacuna_builder* builder = NULL;
  lacuna_trace* trace = NULL;
  CHECK_OK(lacuna_builder_new("memory", "{\"model\": \"tiny\", \"batch\": 4, \"loss\": 0.5}", &builder));
  CHECK_OK(lacuna_builder_layer(builder, kLayer));
  uint8_t bits[8 * 8 * 2];
  for (size_t i = 0; i < sizeof bits; ++i) bits[i] = (uint8_t)(i * 37 + 11);
  CHECK_OK(lacuna_builder_mask(builder, LACUNA_A, bits, sizeof bits));
  CHECK_OK(lacuna_builder_mask(builder, LACUNA_G, bits, sizeof bits));
  CHECK_OK(lacuna_builder_layer(builder, kSecond));
  float values[4 * 16];
  for (int i = 0; i < 64; ++i) values[i] = i % 3 == 0 ? 0.0f : 1.0f;
  CHECK_OK(lacuna_builder_values(builder, LACUNA_A, values, 64));
  CHECK_OK(lacuna_builder_finish(builder, &trace));
  CHECK(trace != NULL);
  CHECK_FAILS(lacuna_builder_finish(builder, &trace), LACUNA_BAD_INPUT, "no layers");
  lacuna_builder_free(builder);
  return trace;
}

static void test_basics(void) {
  CHECK(lacuna_abi_version() == LACUNA_ABI_VERSION);
  CHECK(strcmp(lacuna_last_error(), "") == 0);
  CHECK(strchr(lacuna_version(), '.') != NULL);
  char* json = NULL;
  CHECK_OK(lacuna_machines_json(&json));
  CHECK(holds(json, "tensordash"));
  lacuna_string_free(json);
  json = NULL;
  CHECK_OK(lacuna_parameters_json("tensordash", &json));
  CHECK(holds(json, "\"rows\""));
  lacuna_string_free(json);
  json = NULL;
  CHECK_FAILS(lacuna_parameters_json("tensordahs", &json), LACUNA_BAD_INPUT, "did you mean 'tensordash'");
  CHECK(json == NULL);
  CHECK_FAILS(lacuna_parameters_json(NULL, &json), LACUNA_BAD_INPUT, "'machine' is null");
  CHECK_FAILS(lacuna_machines_json(NULL), LACUNA_BAD_INPUT, "'json' is null");
  lacuna_string_free(NULL);
}

/* Products of two activations have both factors per product. */
static void test_products(void) {
  static const char* const kScores =
      "{\"name\": \"scores\", \"type\": \"matmul\", \"batch\": 4, \"rows\": 3, \"in_features\": 5,"
      " \"out_features\": 3, \"steps\": 2}";
  lacuna_builder* builder = NULL;
  lacuna_trace* trace = NULL;
  CHECK_OK(lacuna_builder_new("memory", "{\"model\": \"attention\"}", &builder));
  CHECK_OK(lacuna_builder_layer(builder, kScores));
  uint8_t bits[4 * 3];
  memset(bits, 1, sizeof bits);
  CHECK_OK(lacuna_builder_mask(builder, LACUNA_A, bits, sizeof bits));
  CHECK_FAILS(lacuna_builder_mask(builder, LACUNA_W, bits, 3), LACUNA_BAD_INPUT, "its shape needs 12");
  CHECK_OK(lacuna_builder_finish(builder, &trace));
  lacuna_builder_free(builder);
  double zeros[3];
  CHECK_OK(lacuna_trace_layer_zeros(trace, 0, zeros));
  CHECK(zeros[0] == 0.8 && zeros[1] == 0);
  char* json = NULL;
  CHECK_OK(lacuna_trace_inspect_json(trace, &json));
  CHECK(holds(json, "\"type\": \"matmul\"") && holds(json, "\"rows\": 3"));
  lacuna_string_free(json);
  lacuna_result* result = NULL;
  const lacuna_trace* const traces[] = {trace};
  CHECK_OK(lacuna_simulate(traces, 1, NULL, &result));
  lacuna_result_free(result);
  lacuna_trace_free(trace);
}

/* SWAT: the forward product multiplies all activations, the weight gradient a few. */
static void test_forward_activations(void) {
  static const char* const kFull =
      "{\"name\": \"l\", \"type\": \"linear\", \"in_features\": 8, \"out_features\": 4, \"batch\": 2}";
  lacuna_builder* builder = NULL;
  lacuna_trace* trace = NULL;
  CHECK_OK(lacuna_builder_new("memory", "{\"model\": \"swat\"}", &builder));
  CHECK_OK(lacuna_builder_layer(builder, kFull));
  const uint8_t kept[2] = {1, 1}, all[2] = {255, 15};
  CHECK_OK(lacuna_builder_mask(builder, LACUNA_A, kept, sizeof kept));
  CHECK_OK(lacuna_builder_mask(builder, LACUNA_A_FORWARD, all, sizeof all));
  CHECK_OK(lacuna_builder_finish(builder, &trace));
  lacuna_builder_free(builder);
  double zeros[3], forward;
  CHECK_OK(lacuna_trace_layer_zeros(trace, 0, zeros));
  CHECK_OK(lacuna_trace_layer_forward_zeros(trace, 0, &forward));
  CHECK(zeros[0] == 0.875 && forward == 0.25);
  char* json = NULL;
  CHECK_OK(lacuna_trace_inspect_json(trace, &json));
  CHECK(holds(json, "\"A_forward\": 0.25"));
  lacuna_string_free(json);
  lacuna_trace_free(trace);
}

static void test_traces(void) {
  char path[4096];
  lacuna_trace* trace = NULL;
  path_of(path, sizeof path, data_folder, "gcn_p100.safetensors.zst");
  CHECK_OK(lacuna_trace_open(path, &trace));
  char* json = NULL;
  CHECK_OK(lacuna_trace_inspect_json(trace, &json));
  CHECK(holds(json, "gcn"));
  lacuna_string_free(json);
  lacuna_trace_free(trace);
  trace = NULL;

  CHECK_FAILS(lacuna_trace_open("/nowhere/x.safetensors", &trace), LACUNA_BAD_INPUT,
              "/nowhere/x.safetensors");
  CHECK_FAILS(lacuna_trace_open(NULL, &trace), LACUNA_BAD_INPUT, "'path' is null");
  CHECK_FAILS(lacuna_trace_open(path, NULL), LACUNA_BAD_INPUT, "'trace' is null");
  CHECK_FAILS(lacuna_trace_write(NULL, "x"), LACUNA_BAD_INPUT, "'trace' is null");
  CHECK_FAILS(lacuna_trace_inspect_json(NULL, &json), LACUNA_BAD_INPUT, "'trace' is null");
  CHECK(trace == NULL);

  /* Built, written, read again. */
  trace = small_trace();
  path_of(path, sizeof path, work_folder, "capi_test.safetensors");
  CHECK_OK(lacuna_trace_write(trace, path));
  CHECK(lacuna_trace_layer_count(trace) == 2 && lacuna_trace_layer_count(NULL) == 0);
  double zeros[3];
  CHECK_OK(lacuna_trace_layer_zeros(trace, 1, zeros));
  CHECK(zeros[0] == 22.0 / 64 && zeros[1] == 0 && zeros[2] == 0);
  CHECK_FAILS(lacuna_trace_layer_zeros(trace, 2, zeros), LACUNA_BAD_INPUT, "no layer 2");
  CHECK_FAILS(lacuna_trace_layer_zeros(NULL, 0, zeros), LACUNA_BAD_INPUT, "'trace' is null");
  CHECK_OK(lacuna_trace_layer_forward_zeros(trace, 1, zeros));
  CHECK(zeros[0] == 22.0 / 64);
  CHECK_FAILS(lacuna_trace_layer_forward_zeros(trace, 2, zeros), LACUNA_BAD_INPUT, "no layer 2");
  CHECK_FAILS(lacuna_trace_write(trace, "/nowhere/at/all.safetensors"), LACUNA_BAD_INPUT, "/nowhere");
  lacuna_trace_free(trace);
  CHECK_OK(lacuna_trace_open(path, &trace));
  lacuna_trace_free(trace);
  remove(path);

  lacuna_builder* builder = NULL;
  trace = NULL;
  CHECK_FAILS(lacuna_builder_new("b", "[]", &builder), LACUNA_BAD_INPUT, "not a JSON object");
  CHECK_FAILS(lacuna_builder_new("b", "{}", &builder), LACUNA_BAD_INPUT, "model");
  CHECK_FAILS(lacuna_builder_new("b", "{\"model\": \"m\", \"batch\": -1}", &builder), LACUNA_BAD_INPUT,
              "batch");
  CHECK_FAILS(lacuna_builder_new(NULL, "{}", &builder), LACUNA_BAD_INPUT, "'name' is null");
  CHECK(builder == NULL);
  CHECK_OK(lacuna_builder_new("b", "{\"model\": \"m\"}", &builder));
  const uint8_t byte = 1;
  const float value = 1;
  CHECK_FAILS(lacuna_builder_mask(builder, LACUNA_A, &byte, 1), LACUNA_BAD_INPUT, "before any layer");
  CHECK_FAILS(lacuna_builder_layer(builder, "{\"name\": \"c\"}"), LACUNA_BAD_INPUT, "unknown type");
  CHECK_FAILS(lacuna_builder_layer(builder, "{},{}"), LACUNA_BAD_INPUT, "no 'name'");
  CHECK_OK(lacuna_builder_layer(builder, kLayer));
  CHECK_FAILS(lacuna_builder_mask(builder, LACUNA_A, &byte, 1), LACUNA_BAD_INPUT, "needs 128");
  CHECK_FAILS(lacuna_builder_values(builder, LACUNA_W, &value, 1), LACUNA_BAD_INPUT, "needs 2304");
  CHECK_FAILS(lacuna_builder_mask(builder, (lacuna_role)7, &byte, 1), LACUNA_BAD_INPUT, "no operand 7");
  CHECK_FAILS(lacuna_builder_mask(builder, LACUNA_A, NULL, 1), LACUNA_BAD_INPUT, "'bits' is null");
  CHECK_FAILS(lacuna_builder_values(NULL, LACUNA_A, &value, 1), LACUNA_BAD_INPUT, "'builder' is null");
  CHECK_OK(lacuna_builder_layer(builder, kLayer));
  CHECK_FAILS(lacuna_builder_finish(builder, &trace), LACUNA_BAD_INPUT, "two layers are called");
  CHECK_FAILS(lacuna_builder_finish(NULL, &trace), LACUNA_BAD_INPUT, "'builder' is null");
  lacuna_builder_free(builder);
  lacuna_builder_free(NULL);

  /* In one call. */
  char list[1024];
  snprintf(list, sizeof list, "[%s]", kLayer);
  uint8_t bits[8 * 8 * 2] = {0};
  const uint8_t* masks[3] = {bits, NULL, NULL};
  const size_t sizes[3] = {sizeof bits, 0, 0};
  CHECK_OK(lacuna_trace_of_masks("m", "{\"model\": \"m\"}", list, masks, sizes, 3, &trace));
  CHECK_OK(lacuna_trace_layer_zeros(trace, 0, zeros));
  CHECK(zeros[0] == 1 && zeros[1] == 0 && zeros[2] == 0);
  lacuna_trace_free(trace);
  trace = NULL;
  CHECK_FAILS(lacuna_trace_of_masks("m", "{\"model\": \"m\"}", list, masks, sizes, 2, &trace),
              LACUNA_BAD_INPUT, "1 layers have 2 masks");
  masks[1] = bits;
  CHECK_FAILS(lacuna_trace_of_masks("m", "{\"model\": \"m\"}", list, masks, sizes, 3, &trace),
              LACUNA_BAD_INPUT, "needs 288");
  CHECK_FAILS(lacuna_trace_of_masks("m", "{\"model\": \"m\"}", list, NULL, sizes, 3, &trace),
              LACUNA_BAD_INPUT, "'masks' is null");
  CHECK(trace == NULL);
  lacuna_trace_free(NULL);
}

struct Seen {
  double last;
  int calls;
  int cancel_at;
};
static int on_progress(double share, void* user) {
  struct Seen* seen = user;
  CHECK(share >= seen->last && share <= 1.0 + 1e-9);
  seen->last = share;
  return ++seen->calls == seen->cancel_at;
}

/* Another program may cut a file short while this one works with it: no signal ends the process. */
static void test_shrinking(void) {
  char path[4096];
  path_of(path, sizeof path, work_folder, "shrinks.safetensors");
  lacuna_builder* builder = NULL;
  lacuna_trace* trace = NULL;
  CHECK_OK(lacuna_builder_new("memory", "{\"model\": \"tiny\"}", &builder));
  CHECK_OK(lacuna_builder_layer(builder,
                                "{\"name\": \"fc\", \"type\": \"linear\", \"in_features\": 1024,"
                                " \"out_features\": 64, \"batch\": 1024}"));
  static float values[1024 * 1024];
  for (int i = 0; i < 1024 * 1024; ++i) values[i] = (float)(i % 3);
  CHECK_OK(lacuna_builder_values(builder, LACUNA_A, values, 1024 * 1024));
  CHECK_OK(lacuna_builder_finish(builder, &trace));
  lacuna_builder_free(builder);
  CHECK_OK(lacuna_trace_write(trace, path));
  lacuna_trace_free(trace);
  CHECK_OK(lacuna_trace_open(path, &trace));
  CHECK(truncate(path, 100) == 0);
  lacuna_result* result = NULL;
  const lacuna_trace* const traces[] = {trace};
  const lacuna_simulate_options options = {.struct_size = sizeof options, .engine = "functional"};
  CHECK_OK(lacuna_simulate(traces, 1, &options, &result));
  lacuna_result_free(result);
  lacuna_trace_free(trace);
  CHECK_FAILS(lacuna_trace_open(path, &trace), LACUNA_BAD_INPUT, "shrinks.safetensors");
}

static void test_simulate(void) {
  lacuna_trace* trace = small_trace();
  const lacuna_trace* const traces[] = {trace};
  lacuna_result* result = NULL;
  const char* machines[] = {"dense", "tensordash"};
  const char* settings[] = {"tensordash.rows=8"};
  struct Seen seen = {0, 0, 0};
  lacuna_simulate_options options = {.struct_size = sizeof options,
                                     .machines = machines,
                                     .machine_count = 2,
                                     .settings = settings,
                                     .setting_count = 1,
                                     .threads = 2,
                                     .energy = 1,
                                     .progress = on_progress,
                                     .user = &seen};
  CHECK_OK(lacuna_simulate(traces, 1, &options, &result));
  CHECK(seen.calls > 0 && fabs(seen.last - 1) < 1e-9);
  lacuna_totals totals = {.struct_size = sizeof totals};
  CHECK(lacuna_result_count(result) == 2 && lacuna_result_count(NULL) == 0);
  CHECK_OK(lacuna_result_totals(result, 1, &totals));
  CHECK(strcmp(totals.machine, "tensordash") == 0 && totals.trace == 0);
  CHECK(totals.cycles > 0 && totals.cycles < totals.baseline_cycles && totals.joules > 0 &&
        totals.seconds > 0);
  CHECK_FAILS(lacuna_result_totals(result, 2, &totals), LACUNA_BAD_INPUT, "no run 2");
  CHECK_FAILS(lacuna_result_totals(NULL, 0, &totals), LACUNA_BAD_INPUT, "'result' is null");
  totals.struct_size = 0;
  CHECK_FAILS(lacuna_result_totals(result, 0, &totals), LACUNA_BAD_INPUT, "'totals'");
  char *json = NULL, *layers = NULL, *text = NULL, *csv = NULL, *html = NULL;
  CHECK_OK(lacuna_result_json(result, 0, &json));
  CHECK(holds(json, "\"arch\": \"tensordash\"") && holds(json, "\"energy\"") && holds(json, "\"rows\": 8"));
  CHECK_OK(lacuna_result_json(result, 1, &layers));
  CHECK(strlen(layers) > strlen(json));
  CHECK_OK(lacuna_result_text(result, 0, 0, &text));
  CHECK(holds(text, "tensordash: rows=8") && holds(text, "forward") && holds(text, "from zeros"));
  lacuna_string_free(text);
  CHECK_OK(lacuna_result_text(result, 1, 60, &text));
  CHECK(holds(text, "conv1"));
  CHECK_OK(lacuna_result_csv(result, &csv));
  CHECK(holds(csv, "conv1,"));
  const lacuna_status page = lacuna_result_html(result, "a test", &html);
  if (page == LACUNA_OK) { /* else npm was missing */
    char path[4096];
    CHECK(holds(html, "a test"));
    path_of(path, sizeof path, work_folder, "capi_test.html");
    CHECK_OK(lacuna_result_write_html(result, NULL, path));
    remove(path);
    CHECK_FAILS(lacuna_result_write_html(result, NULL, "/nowhere/x.html"), LACUNA_BAD_INPUT, "/nowhere");
  } else {
    CHECK_FAILS(page, LACUNA_BAD_INPUT, "npm");
  }
  lacuna_string_free(json);
  lacuna_string_free(layers);
  lacuna_string_free(text);
  lacuna_string_free(csv);
  lacuna_string_free(html);
  CHECK_FAILS(lacuna_result_json(NULL, 0, &json), LACUNA_BAD_INPUT, "'result' is null");
  CHECK_FAILS(lacuna_result_csv(result, NULL), LACUNA_BAD_INPUT, "'csv' is null");
  CHECK_FAILS(lacuna_result_text(NULL, 0, 0, &text), LACUNA_BAD_INPUT, "'result' is null");
  CHECK_FAILS(lacuna_result_html(NULL, "", &html), LACUNA_BAD_INPUT, "'result' is null");
  CHECK_FAILS(lacuna_result_write_html(result, "", NULL), LACUNA_BAD_INPUT, "'path' is null");
  lacuna_result_free(result);
  lacuna_result_free(NULL);

  result = NULL;
  seen = (struct Seen){0, 0, 3};
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_CANCELLED, "cancelled");
  options.progress = NULL;
  const int cancel = 1;
  options.cancel = &cancel;
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_CANCELLED, "cancelled");
  options.cancel = NULL;
  settings[0] = "rows=many";
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "set rows=many");
  options.setting_count = 0;
  options.engine = "quick";
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "unknown engine");
  options.engine = NULL;
  options.threads = -1;
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "threads");
  options.threads = 1;
  options.energy_table = "no-such-table";
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "energy_table");
  options.energy_table = NULL;
  options.operations = 8;
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "operations");
  totals.struct_size = sizeof totals;
  double cycles[8]; /* by the operations that ran */
  for (options.operations = 0; options.operations < 8; ++options.operations) {
    CHECK_OK(lacuna_simulate(traces, 1, &options, &result));
    CHECK_OK(lacuna_result_totals(result, 1, &totals));
    cycles[options.operations] = totals.cycles;
    lacuna_result_free(result);
    result = NULL;
  }
  options.operations = 0;
  CHECK(fabs(cycles[1] + cycles[2] + cycles[4] - cycles[0]) < 1e-6 && cycles[7] == cycles[0]);
  CHECK(fabs(cycles[1] + cycles[4] - cycles[5]) < 1e-6 && cycles[1] > 0 && cycles[4] > 0);
  machines[1] = "dense";
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "two machines");
  machines[1] = NULL;
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "'machines' is null");
  options.struct_size = 0;
  CHECK_FAILS(lacuna_simulate(traces, 1, &options, &result), LACUNA_BAD_INPUT, "'options'");
  CHECK_FAILS(lacuna_simulate(traces, 0, NULL, &result), LACUNA_BAD_INPUT, "no trace");
  CHECK_FAILS(lacuna_simulate(NULL, 1, NULL, &result), LACUNA_BAD_INPUT, "'traces' is null");
  CHECK_FAILS(lacuna_simulate(traces, 1, NULL, NULL), LACUNA_BAD_INPUT, "'result' is null");
  CHECK(result == NULL);
  /* A caller compiled with an older, shorter structure; and the result outlives the trace. */
  options = (lacuna_simulate_options){.struct_size = offsetof(lacuna_simulate_options, engine),
                                      .engine = "not read"};
  CHECK_OK(lacuna_simulate(traces, 1, &options, &result));
  lacuna_trace_free(trace);
  CHECK_OK(lacuna_result_json(result, 0, &json));
  lacuna_string_free(json);
  lacuna_result_free(result);
}

static void test_conv(void) {
  lacuna_conv* conv = NULL;
  lacuna_conv_options options = {.struct_size = sizeof options,
                                 .batch = 1,
                                 .in_channels = 16,
                                 .out_channels = 16,
                                 .input_hw = {6, 6},
                                 .kernel = {3, 3},
                                 .padding = {1, 1},
                                 .impl = LACUNA_IMPL_SPARSE};
  enum { kImage = 16 * 36, kWeights = 16 * 16 * 9 };
  static float src[kImage], dst[2][kImage], weights[kWeights], grad[2][kWeights];
  for (int i = 0; i < kImage; ++i) src[i] = i % 3 == 0 ? 0.0f : (float)(i % 7 - 3);
  for (int i = 0; i < kWeights; ++i) weights[i] = (float)(i % 5 - 2);
  int64_t sizes[3] = {0, 0, 0};
  lacuna_conv_report report = {.struct_size = sizeof report};
  for (int op = LACUNA_FORWARD; op <= LACUNA_WEIGHT_GRAD; ++op) {
    options.op = (lacuna_operation)op;
    for (int reference = 0; reference < 2; ++reference) {
      options.impl = reference ? LACUNA_IMPL_REFERENCE : LACUNA_IMPL_SPARSE;
      CHECK_OK(lacuna_conv_plan(&options, &conv));
      CHECK_OK(lacuna_conv_sizes(conv, &sizes[0], &sizes[1], &sizes[2]));
      CHECK(sizes[0] == kImage && sizes[1] == kImage && sizes[2] == kWeights);
      CHECK_OK(lacuna_conv_sizes(conv, NULL, NULL, NULL));
      CHECK(strlen(lacuna_conv_kernel(conv)) > 0);
      lacuna_conv_tensors tensors = {.struct_size = sizeof tensors};
      tensors.src = op == LACUNA_INPUT_GRAD ? NULL : src;
      tensors.diff_dst = op == LACUNA_FORWARD ? NULL : src;
      tensors.weights = op == LACUNA_WEIGHT_GRAD ? NULL : weights;
      tensors.dst = op == LACUNA_FORWARD ? dst[reference] : NULL;
      tensors.diff_src = op == LACUNA_INPUT_GRAD ? dst[reference] : NULL;
      tensors.diff_weights = op == LACUNA_WEIGHT_GRAD ? grad[reference] : NULL;
      CHECK_OK(lacuna_conv_run(conv, &tensors, -1, &report));
      CHECK(report.used == options.impl);
      CHECK_OK(lacuna_conv_run(conv, &tensors, 0.33, NULL));
      lacuna_conv_free(conv);
      conv = NULL;
    }
    if (op == LACUNA_WEIGHT_GRAD)
      for (int i = 0; i < kWeights; ++i) CHECK(fabsf(grad[0][i] - grad[1][i]) < 1e-3f);
    else
      for (int i = 0; i < kImage; ++i) CHECK(fabsf(dst[0][i] - dst[1][i]) < 1e-3f);
  }

  options.impl = LACUNA_IMPL_SPARSE;
  CHECK_OK(lacuna_conv_plan(&options, &conv));
  lacuna_conv_tensors tensors = {.struct_size = sizeof tensors, .diff_dst = src, .diff_weights = grad[0]};
  CHECK_FAILS(lacuna_conv_run(conv, NULL, -1, NULL), LACUNA_BAD_INPUT, "'tensors'");
  tensors.src = NULL;
  CHECK_FAILS(lacuna_conv_run(conv, &tensors, -1, NULL), LACUNA_BAD_INPUT, "convolution");
  CHECK_FAILS(lacuna_conv_run(NULL, &tensors, -1, NULL), LACUNA_BAD_INPUT, "'conv' is null");
  CHECK_FAILS(lacuna_conv_sizes(NULL, NULL, NULL, NULL), LACUNA_BAD_INPUT, "'conv' is null");
  CHECK(lacuna_conv_kernel(NULL) == NULL);
  lacuna_conv_free(conv);
  lacuna_conv_free(NULL);

  /* The gradients of the non-zero weights alone, in a workspace of the caller. */
  conv = NULL;
  options.op = LACUNA_WEIGHT_GRAD;
  options.skipped = LACUNA_OPERAND_W;
  options.borrow_workspace = 1;
  CHECK(lacuna_conv_workspace(NULL) == 0);
  CHECK_OK(lacuna_conv_plan(&options, &conv));
  const size_t bytes = (lacuna_conv_workspace(conv) + 63) / 64 * 64;
  tensors = (lacuna_conv_tensors){.struct_size = sizeof tensors,
                                  .src = src,
                                  .weights = weights,
                                  .diff_dst = src,
                                  .diff_weights = grad[0]};
  CHECK(bytes > 0);
  CHECK_FAILS(lacuna_conv_run(conv, &tensors, -1, NULL), LACUNA_BAD_INPUT, "the workspace is null");
  tensors.workspace = aligned_alloc(64, bytes);
  CHECK_OK(lacuna_conv_run(conv, &tensors, -1, NULL));
  for (int i = 0; i < kWeights; ++i) CHECK(fabsf(grad[0][i] - (weights[i] == 0 ? 0 : grad[1][i])) < 1e-3f);
  free(tensors.workspace);
  lacuna_conv_free(conv);
  options.skipped = LACUNA_OPERAND_DEFAULT;
  options.borrow_workspace = 0;
  options.op = LACUNA_FORWARD;

  /* A linear layer; weights in the order of channels-last; the share of zeros. */
  conv = NULL;
  lacuna_conv_options linear = {.struct_size = sizeof linear,
                                .batch = 4,
                                .in_channels = 16,
                                .out_channels = 2,
                                .layout = LACUNA_NHWC,
                                .impl = LACUNA_IMPL_SPARSE,
                                .ohwi_weights = 1,
                                .linear = 1};
  CHECK_OK(lacuna_conv_plan(&linear, &conv));
  CHECK_OK(lacuna_conv_sizes(conv, &sizes[0], &sizes[1], &sizes[2]));
  CHECK(sizes[0] == 64 && sizes[1] == 8 && sizes[2] == 32);
  tensors =
      (lacuna_conv_tensors){.struct_size = sizeof tensors, .src = src, .weights = weights, .dst = dst[0]};
  CHECK_OK(lacuna_conv_run(conv, &tensors, -1, NULL));
  for (int row = 0; row < 4; ++row)
    for (int k = 0; k < 2; ++k) {
      float sum = 0;
      for (int c = 0; c < 16; ++c) sum += src[row * 16 + c] * weights[k * 16 + c];
      CHECK(fabsf(dst[0][row * 2 + k] - sum) < 1e-3f);
    }
  lacuna_conv_free(conv);
  conv = NULL;

  /* The same with operands rounded to bfloat16, where this CPU has it; small numbers stay what they are. */
  linear.out_channels = 16;
  linear.ohwi_weights = 0;
  linear.impl = LACUNA_IMPL_BFLOAT16;
  if (lacuna_conv_plan(&linear, &conv) == LACUNA_OK) {
    CHECK(strstr(lacuna_conv_kernel(conv), "bfloat16") != NULL ||
          strstr(lacuna_conv_kernel(conv), "bf16") != NULL);
    lacuna_conv_report rounded = {.struct_size = sizeof rounded};
    CHECK_OK(lacuna_conv_run(conv, &tensors, -1, &rounded));
    CHECK(rounded.used == LACUNA_IMPL_BFLOAT16);
    for (int row = 0; row < 4; ++row)
      for (int k = 0; k < 16; ++k) {
        float sum = 0;
        for (int c = 0; c < 16; ++c) sum += src[row * 16 + c] * weights[k * 16 + c];
        CHECK(fabsf(dst[0][row * 16 + k] - sum) < 1e-3f);
      }
    lacuna_conv_free(conv);
  } else {
    CHECK(strstr(lacuna_last_error(), "bfloat16") != NULL);
  }
  double share = -1;
  const float some[4] = {0, 1, -0.0f, 3};
  CHECK_OK(lacuna_sample_zeros(some, 4, &share));
  CHECK(share == 0.5);
  CHECK_FAILS(lacuna_sample_zeros(NULL, 4, &share), LACUNA_BAD_INPUT, "'data' is null");
  CHECK_FAILS(lacuna_sample_zeros(some, -1, &share), LACUNA_BAD_INPUT, "'count' is -1");

  conv = NULL;
  options.impl = (lacuna_impl)9;
  CHECK_FAILS(lacuna_conv_plan(&options, &conv), LACUNA_BAD_INPUT, "no implementation 9");
  options.impl = LACUNA_IMPL_SPARSE;
  options.in_channels = 0;
  CHECK_FAILS(lacuna_conv_plan(&options, &conv), LACUNA_BAD_INPUT, "convolution");
  CHECK_FAILS(lacuna_conv_plan(NULL, &conv), LACUNA_BAD_INPUT, "'options'");
  /* Sizes whose products overflow; a negative stride divides. */
  static const int64_t kExtreme[] = {-1, INT64_MIN, INT64_MAX, INT64_C(1) << 62, (1 << 24) + 1};
  for (size_t i = 0; i < 5; ++i)
    for (int field = 0; field < 6; ++field) {
      lacuna_conv_options extreme = {.struct_size = sizeof extreme,
                                     .batch = 1,
                                     .in_channels = 16,
                                     .out_channels = 16,
                                     .input_hw = {9, 9},
                                     .kernel = {5, 5}};
      int64_t* const fields[] = {extreme.input_hw, extreme.kernel,   extreme.stride,
                                 extreme.padding,  extreme.dilation, &extreme.batch};
      fields[field][0] = kExtreme[i];
      CHECK_FAILS(lacuna_conv_plan(&extreme, &conv), LACUNA_BAD_INPUT, "outside");
    }
  CHECK(conv == NULL);
}

/* Two tokens through a block of 1 -> 3 -> 1: hidden values are -1, 2, 0.5 and 3, 0, -4. */
static void test_ffn(void) {
  lacuna_ffn_options options = {.struct_size = sizeof options,
                                .in_features = 1,
                                .hidden = 3,
                                .out_features = 1,
                                .activation = LACUNA_RELU_SQUARED,
                                .threads = 2};
  lacuna_ffn* ffn = NULL;
  lacuna_ffn_pass* pass = NULL;
  CHECK_OK(lacuna_ffn_plan(&options, &ffn));
  CHECK_OK(lacuna_ffn_pass_new(&pass));
  const float hidden[6] = {-1, 2, 0.5f, 3, 0, -4}, down[3] = {5, 7, 2}, bias[1] = {1};
  const float output_grad[2] = {1, 10}, input[2] = {1, 2}, up[3] = {1, 2, 3};
  float output[2], input_grad[2], up_grad[3], up_bias_grad[3], down_grad[3];
  lacuna_ffn_tensors t = {
      .struct_size = sizeof t, .hidden = hidden, .down = down, .down_bias = bias, .output = output};
  double zeros = -1;
  CHECK_FAILS(lacuna_ffn_backward(ffn, pass, &t), LACUNA_BAD_INPUT, "the pass is null");
  CHECK_OK(lacuna_ffn_forward(ffn, 2, &t, pass, &zeros));
  CHECK(zeros == 0.5 && output[0] == 1 + 4 * 7 + 0.25f * 2 && output[1] == 1 + 9 * 5);
  lacuna_ffn_tensors g = {.struct_size = sizeof g,
                          .output_grad = output_grad,
                          .input = input,
                          .up = up,
                          .input_grad = input_grad,
                          .up_grad = up_grad,
                          .up_bias_grad = up_bias_grad,
                          .down_grad = down_grad};
  CHECK_OK(lacuna_ffn_backward(ffn, pass, &g));
  CHECK(down_grad[0] == 90 && down_grad[1] == 4 && down_grad[2] == 0.25f);
  CHECK(up_bias_grad[0] == 300 && up_bias_grad[1] == 28 && up_bias_grad[2] == 2);
  CHECK(up_grad[0] == 600 && up_grad[1] == 28 && up_grad[2] == 2);
  CHECK(input_grad[0] == 28 * 2 + 2 * 3 && input_grad[1] == 300);
  g.up = NULL;
  CHECK_FAILS(lacuna_ffn_backward(ffn, pass, &g), LACUNA_BAD_INPUT, "up is null");
  CHECK_FAILS(lacuna_ffn_forward(ffn, 0, &t, pass, NULL), LACUNA_BAD_INPUT, "0 tokens");
  CHECK_FAILS(lacuna_ffn_forward(ffn, INT64_MAX, &t, pass, NULL), LACUNA_BAD_INPUT, "tokens");
  options.hidden *= 100;
  lacuna_ffn* other = NULL;
  CHECK_OK(lacuna_ffn_plan(&options, &other));
  CHECK_FAILS(lacuna_ffn_backward(other, pass, &g), LACUNA_BAD_INPUT, "the block has");
  lacuna_ffn_free(other);
  CHECK_FAILS(lacuna_ffn_forward(ffn, 2, &t, NULL, NULL), LACUNA_BAD_INPUT, "'pass' is null");
  lacuna_ffn_free(ffn);
  lacuna_ffn_pass_free(pass);
  lacuna_ffn_free(NULL);
  lacuna_ffn_pass_free(NULL);
  options.activation = 3;
  CHECK_FAILS(lacuna_ffn_plan(&options, &ffn), LACUNA_BAD_INPUT, "no activation 3");
  options.activation = LACUNA_THRESHOLDED;
  options.threshold = -1;
  CHECK_FAILS(lacuna_ffn_plan(&options, &ffn), LACUNA_BAD_INPUT, "threshold is -1");
  options.hidden = 0;
  CHECK_FAILS(lacuna_ffn_plan(&options, &ffn), LACUNA_BAD_INPUT, "0 features");
}

/* After threads have run here, a forked child still simulates, and gets the same. */
static void test_fork(void) {
  lacuna_trace* trace = small_trace();
  const lacuna_trace* const traces[] = {trace};
  lacuna_simulate_options options = {.struct_size = sizeof options, .threads = 4};
  lacuna_result* result = NULL;
  char* parents = NULL;
  CHECK_OK(lacuna_simulate(traces, 1, &options, &result));
  CHECK_OK(lacuna_result_json(result, 0, &parents));
  lacuna_result_free(result);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    char* own = NULL;
    CHECK_OK(lacuna_simulate(traces, 1, &options, &result));
    CHECK_OK(lacuna_result_json(result, 0, &own));
    _exit(strcmp(own, parents) == 0 ? 0 : 3);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  lacuna_string_free(parents);
  lacuna_trace_free(trace);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  data_folder = argv[2];
  work_folder = argv[3];
  if (strcmp(argv[1], "basics") == 0)
    test_basics();
  else if (strcmp(argv[1], "traces") == 0)
    test_traces(), test_products(), test_forward_activations(), test_shrinking();
  else if (strcmp(argv[1], "simulate") == 0)
    test_simulate();
  else if (strcmp(argv[1], "conv") == 0)
    test_conv();
  else if (strcmp(argv[1], "ffn") == 0)
    test_ffn();
  else if (strcmp(argv[1], "fork") == 0)
    test_fork();
  else
    return 2;
  return 0;
}
