#include "trace/import/npy_folder.hpp"

#include <ctime>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "base/text/csv.hpp"
#include "trace/import/npy.hpp"

namespace lacuna {
namespace {

std::string npy_file(const std::string& header, std::string_view data, char version = 1) {
  std::string file("\x93NUMPY", 6);
  file += version;
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  }
  return file + header + std::string(data);
}

std::string npy_header(const std::string& shape, const std::string& descr = "<f4",
                       const char* fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}      \n", descr, fortran, shape);
}

std::string npy_array(const std::string& shape, const std::vector<float>& values) {
  return npy_file(npy_header(shape),
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::string npy_error(const std::string& file) {
  return error_of([&] { NpyArray::parse(bytes_of(file), "f"); });
}

TEST(Npy, ReadsAllVersions) {
  for (const char version : {1, 2, 3}) {
    const auto bytes = bytes_of(npy_file(npy_header("(1, 2)"), "abcdefgh", version));
    const NpyArray array = NpyArray::parse(bytes, "f");
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(array.data[0], 'a');
  }
  EXPECT_EQ(NpyArray::parse(bytes_of(npy_array("()", {1})), "f").shape.size(), 0u);
  EXPECT_EQ(NpyArray::parse(bytes_of(npy_array("(1,)", {1})), "f").shape.size(), 1u);
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string remedy = "; save the array again with numpy.save";
  EXPECT_EQ(npy_error(""), "f: this is not a .npy file" + remedy);
  EXPECT_EQ(npy_error("PK\3\4 a zip archive"), "f: this is not a .npy file" + remedy);
  EXPECT_EQ(npy_error(npy_file(npy_header("(1,)"), "abcd", 9)),
            "f: version 9 of the .npy format is unknown" + remedy);
  const std::string good = npy_array("(1,)", {1});
  EXPECT_EQ(npy_error(good.substr(0, 30)), "f: the file ends inside its header" + remedy);
  EXPECT_EQ(npy_error(good.substr(0, good.size() - 1)),
            "f: shape [1] needs 4 bytes, the file holds 3" + remedy);
  EXPECT_EQ(npy_error(good + "x"), "f: shape [1] needs 4 bytes, the file holds 5" + remedy);
  EXPECT_EQ(npy_error(npy_file(npy_header("(1,)", "<f8"), "abcdefgh")),
            "f: its elements are '<f8', only '<f4' is read; save it with .astype('float32')");
  EXPECT_EQ(npy_error(npy_file(npy_header("(1,)", "<f4", "True"), "abcd")),
            "f: the array is in Fortran order; save numpy.ascontiguousarray of it");
  EXPECT_EQ(npy_error(npy_file(npy_header("(4294967296, 4294967296)"), "")),
            "f: its shape multiplies to more than 2^63 bytes" + remedy);
  EXPECT_EQ(npy_error(npy_file(npy_header("(-1,)"), "")),
            "f: the header has a dimension that is not a natural number (byte 51 of it)" + remedy);
  EXPECT_EQ(npy_error(npy_file("{'descr': '<f4'}", "")),
            "f: the header lacks 'descr', 'fortran_order' or 'shape' (byte 16 of it)" + remedy);
  EXPECT_EQ(npy_error(npy_file("{'descr': '<f4', 'descr': '<f4'}", "")),
            "f: the header has an unexpected or repeated key 'descr' (byte 25 of it)" + remedy);
  EXPECT_EQ(npy_error(npy_file("__import__('os')", "")), "f: the header lacks a '{' (byte 0 of it)" + remedy);
  EXPECT_EQ(npy_error(npy_file(npy_header("(1,)") + "x", "abcd")),
            "f: the header continues after its dictionary (byte 64 of it)" + remedy);
}

TEST(Csv, CellsQuotesAndNotes) {
  const CsvTable table =
      CsvTable::parse("# model = net\r\n\na, b ,c\n 1,\"x,\"\"y\"\"\" ,\n# a remark\n,,3", "f");
  EXPECT_EQ(table.notes, (std::vector<std::pair<std::string, std::string>>{{"model", "net"}}));
  EXPECT_EQ(table.columns, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].cells, (std::vector<std::string>{"1", "x,\"y\"", ""}));
  EXPECT_EQ(table.rows[0].line, 4);
  EXPECT_EQ(table.rows[1].cells, (std::vector<std::string>{"", "", "3"}));
  EXPECT_EQ(error_of([] { CsvTable::parse("a,b\n1", "f"); }),
            "f: line 2: 1 cells, but the first line names 2 columns; give every line one cell per column, "
            "empty where it "
            "does not apply");
  EXPECT_EQ(error_of([] { CsvTable::parse("a,\"b", "f"); }),
            "f: line 1: a quote is not closed; close it on the same line");
  EXPECT_EQ(error_of([] { CsvTable::parse("\"a\"b", "f"); }),
            "f: line 1: text follows a closing quote; put the whole cell in quotes");
}

// Numbers 1, 2, 3, ... with zeros at every third place.
std::vector<float> counting(int count) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values.push_back(i % 3 == 0 ? 0.0F : static_cast<float>(i));
  return values;
}

TEST(NpyFolder, TransposesToChannelsLast) {
  const TemporaryFolder folder;
  folder.write("layers.csv", "# model = net\n# batch = 8\nname,type,stride,groups\nc,conv2d,2x1,2\n");
  folder.write("c.A.npy", npy_array("(2, 4, 3, 5)", counting(120)));
  folder.write("c.W.npy", npy_array("(6, 2, 2, 3)", counting(72)));
  folder.write("c.G.npy", npy_array("(2, 6, 1, 3)", counting(36)));
  const Trace trace = Trace::open(folder.path());
  EXPECT_EQ(trace.info().model, "net");
  EXPECT_EQ(trace.batch(), 8);
  const Layer& layer = trace.layers().at(0);
  EXPECT_EQ(layer.shape, LayerShape::conv2d(2, 4, 6, {3, 5}, {2, 3}, {2, 1}, {0, 0}, {1, 1}, 2));
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 4; ++c) {
      for (int p = 0; p < 15; ++p) {
        const int index = (n * 4 + c) * 15 + p;
        EXPECT_EQ(layer.a.values.at(n * 15 + p, c), index % 3 == 0 ? 0 : static_cast<float>(index));
        EXPECT_EQ(layer.a.mask.bit(n * 15 + p, c), index % 3 != 0);
      }
    }
  }
  EXPECT_EQ(layer.w.values.at(1, 1), 7);               // [k=0, c=1, tap=1] of [6, 2, 6 taps]
  EXPECT_EQ(layer.g.values.at(4, 5), 18 + 5 * 3 + 1);  // [n=1, k=5, position 1]
  EXPECT_EQ(layer.a.zeros(), 40);
}

TEST(NpyFolder, ChannelsLastAsTheyAre) {
  const TemporaryFolder folder;
  folder.write("layers.csv", "name,type,layout,padding\nc,conv2d,nhwc,1\n");
  folder.write("c.A.npy", npy_array("(1, 2, 3, 2)", counting(12)));
  folder.write("c.W.npy", npy_array("(1, 3, 3, 2)", counting(18)));
  const Trace trace = Trace::open(folder.path());
  const Layer& layer = trace.layers().at(0);
  EXPECT_EQ(layer.shape, LayerShape::conv2d(1, 2, 1, {2, 3}, {3, 3}, {1, 1}, {1, 1}));
  EXPECT_EQ(layer.a.values.at(2, 1), 5);
  EXPECT_EQ(layer.g.zeros(), 0);  // no file: no zeros
}

TEST(NpyFolder, LinearLayersAndNamedFiles) {
  const TemporaryFolder folder;
  folder.write("layers.csv", "name,type,steps,A,out_channels\nl,linear,2,acts.npy,7\n");
  folder.write("acts.npy", npy_array("(4, 3)", counting(12)));
  const Trace trace = Trace::open(folder.path());
  EXPECT_EQ(trace.layers().at(0).shape, LayerShape::linear(4, 3, 7));
  EXPECT_EQ(trace.layers().at(0).steps, 2);
  EXPECT_EQ(trace.info().model, folder.path().filename().string());
}

TEST(NpyFolder, RefusesListsThatCannotBe) {
  const TemporaryFolder folder;
  const std::string where = folder.path().string();
  const std::string list = where + "/layers.csv";
  EXPECT_EQ(
      error_of([&] { Trace::open(folder.path()); }),
      where + ": the folder has no layers.csv; docs/trace-format.md says what a folder of arrays needs");
  folder.write("a.safetensors.zst", "");
  EXPECT_NE(error_of([&] { Trace::open(folder.path()); }).find("; name the traces in it one by one"),
            std::string::npos);
  std::filesystem::remove(folder / "a.safetensors.zst");
  const auto error = [&](const std::string& text) {
    folder.write("layers.csv", text);
    return error_of([&] { Trace::open(folder.path()); });
  };
  EXPECT_EQ(error(""), list +
                           ": the column 'name' is missing; the first line names the columns; "
                           "docs/trace-format.md lists them");
  EXPECT_EQ(error("name,type\n"), list + ": there are no layers; add a line for each");
  EXPECT_EQ(error("name,type,strid\n").substr(0, list.size() + 48),
            list + ": unknown column 'strid'; did you mean 'stride'?");
  EXPECT_EQ(error("name,type,name\n"), list + ": the column 'name' is there twice; remove one");
  EXPECT_EQ(error("# modle = x\nname,type\n").substr(0, list.size() + 70),
            list + ": unknown key 'modle' in a '# key = value' line; did you mean 'model'?");
  EXPECT_EQ(error("name,type\n,conv2d\n"), list + ": line 2: the layer has no name; fill the column 'name'");
  EXPECT_EQ(error("name,type\nc,conv\n"),
            list + ": line 2: unknown type 'conv'; did you mean 'conv2d'? known: conv2d, linear");
  EXPECT_EQ(error("name,type,layout\nc,conv2d,nwhc\n"),
            list + ": line 2: unknown layout 'nwhc'; did you mean 'nhwc'? known: nchw, nhwc");
  EXPECT_EQ(error("name,type\nc,conv2d\n"),
            list + ": line 2: the batch is unknown: no array of the layer gives it; give the column 'batch'");
  EXPECT_EQ(error("name,type,stride\nc,linear,2\n"),
            list + ": line 2: a linear layer has no 'stride'; leave the cell empty");
  EXPECT_EQ(error("name,type,A\nc,conv2d,../a.npy\n"),
            list + ": line 2: '../a.npy' is outside the folder; name a file inside the folder");
  EXPECT_EQ(error("name,type,A\nc,conv2d,/etc/a.npy\n"),
            list + ": line 2: '/etc/a.npy' is outside the folder; name a file inside the folder");
  EXPECT_EQ(error("name,type,A\nc,conv2d,a.npy\n"), where + "/a.npy: there is no such file; check the path");
  const std::string all = "name,type,batch,in_channels,out_channels,kernel,input_hw,stride,groups\n";
  EXPECT_EQ(error(all + "c,conv2d,1,4,4,3,8,1,2\n"), "no error");
  EXPECT_EQ(error(all + "c,conv2d,1,4,4,3,8,0,2\n"),
            list + ": line 2: a stride or dilation is 0; give a number from 1 up");
  EXPECT_EQ(error(all + "c,conv2d,1,4,4,3,8,1,0\n"),
            list + ": line 2: 'groups' is 0; give a number from 1 up");
  EXPECT_EQ(error(all + "c,conv2d,1,4,4,3,8,1x,2\n"),
            list +
                ": line 2: 'stride' is '1x', not a number from 0 to 16777216; write 3, or 3x2 for height and "
                "width");
  EXPECT_EQ(
      error(all + "c,conv2d,99999999,4,4,3,8,1,2\n"),
      list +
          ": line 2: 'batch' is '99999999', not a number from 0 to 16777216; write 3, or 3x2 for height and "
          "width");
  EXPECT_EQ(
      error(all + "c,conv2d,1,4,4,9,8,1,2\n"),
      list +
          ": line 2: output_hw[0] is 0, outside 1..16777216; correct the layer's description or record the "
          "trace again");
  EXPECT_EQ(error(all + "c,conv2d,1,4,4,3,8,1,2\nc,conv2d,1,4,4,3,8,1,2\n"),
            where + ": two layers are called 'c'; rename one");
}

TEST(NpyFolder, RefusesArraysThatDoNotFit) {
  const TemporaryFolder folder;
  const std::string where = folder.path().string();
  folder.write("layers.csv", "name,type\nc,conv2d\n");
  const auto error = [&] { return error_of([&] { Trace::open(folder.path()); }); };
  folder.write("c.A.npy", npy_array("(1, 2, 3)", counting(6)));
  EXPECT_EQ(error(),
            where +
                "/c.A.npy: the array has the shape [1, 2, 3], A of a conv2d layer has 4 axes; save it "
                "again in that shape");
  folder.write("c.A.npy", npy_array("(0, 2, 1, 1)", {}));
  EXPECT_EQ(error(),
            where +
                "/c.A.npy: the array has the shape [0, 2, 1, 1], each axis must be 1 to 16777216; save "
                "it again");
  folder.write("c.A.npy", npy_array("(1, 2, 1, 1)", {1, 2}));
  folder.write("c.W.npy", npy_array("(1, 3, 1, 1)", {1, 2, 3}));
  EXPECT_EQ(error(), where + "/layers.csv: line 2: the number of input channels is 2 according to " + where +
                         "/c.A.npy but 3 according to " + where +
                         "/c.W.npy; correct the line or save the arrays again");
  folder.write("c.W.npy", npy_array("(1, 2, 1, 1)", {1, 2}));
  folder.write("c.G.npy", npy_array("(1, 1, 2, 1)", {1, 2}));
  EXPECT_EQ(error(),
            where +
                "/layers.csv: line 2: output_hw is 2x1, but input, kernel, stride, padding and dilation "
                "give 1x1; correct the layer's description or record the trace again");
  folder.write("c.G.npy", npy_array("(1, 1, 1, 1)", {std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(error(),
            where +
                ": layer 'c': G: element 0 (row 0, channel 0) is infinite; the training diverged at this "
                "step; record another one");
  folder.write("c.G.npy", npy_array("(1, 1, 1, 1)", {1}));
  EXPECT_EQ(error(), "no error");
  folder.write("c.w.npy", npy_array("(1, 1, 1, 1)", {1}));
  EXPECT_EQ(error(), where +
                         ": 'c.w.npy' belongs to no layer of layers.csv; call it NAME.A.npy, NAME.W.npy or "
                         "NAME.G.npy, name it in the list, or remove it");
}

// Spreadsheets put it before the first column's name, where nobody sees it.
TEST(NpyFolder, AByteOrderMarkIsNotPartOfTheFirstColumn) {
  const TemporaryFolder folder;
  folder.write("layers.csv", "\xef\xbb\xbfname,type,batch,in_channels,out_channels\r\nfc,linear,1,8,4\r\n");
  EXPECT_EQ(open_npy_folder(folder.path()).layers().at(0).name, "fc");
  folder.write("layers.csv", std::string_view("\xff\xfen\0a\0", 6));
  EXPECT_EQ(error_of([&] { open_npy_folder(folder.path()); }),
            folder.file("layers.csv") + ": this is not UTF-8 text; save it as CSV in UTF-8");
}

// What asks for the batch of each layer must not look at every layer each time.
TEST(NpyFolder, ManyRowsTakeLinearTime) {
  const auto seconds = [](int rows) {
    const TemporaryFolder folder;
    std::string list = "name,type,batch,in_channels,out_channels\n";
    for (int i = 0; i < rows; ++i) list += fmt::format("l{},linear,1,8,8\n", i);
    folder.write("layers.csv", list);
    const auto begin = std::clock();
    const Trace trace = open_npy_folder(folder.path());
    double scale = 0;
    for (const Layer& layer : trace.layers()) scale += trace.batch_scale(layer);
    EXPECT_EQ(scale, rows);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  seconds(1000);
  const double few = seconds(2000);
  EXPECT_LT(seconds(32000), 64 * few + 0.05);
}

}  // namespace
}  // namespace lacuna
