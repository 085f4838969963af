// SPDX-License-Identifier: Apache-2.0
// Effectual bits of values: set unless a value is a zero of either sign. NaN and denormals are effectual, as in the model.
module td_zero_detect #(
  parameter int unsigned Count = 16,  // values
  parameter int unsigned Width = 32   // bits of a value; the highest is its sign
) (
  input  logic [Count*Width-1:0] values_i,    // the values, value n at n*Width
  output logic [Count-1:0]       effectual_o  // one bit per value
);
  logic unused_signs;
  always_comb begin
    unused_signs = 1'b0;
    for (int unsigned i = 0; i < Count; i++) begin
      effectual_o[i] = |values_i[i*Width +: Width-1];
      unused_signs = unused_signs ^ values_i[i*Width + Width - 1];
    end
  end
`ifndef SYNTHESIS
  if (Count < 1 || Width < 2) $error("td_zero_detect: Count must be at least 1 and Width, with a sign, at least 2");
`endif
endmodule
