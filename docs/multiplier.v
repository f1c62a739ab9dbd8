// Multiplies the references of two tokens, which are signed; their control and coordinate are those of a.
// Whatever it drives comes out of registers: each side has a slot for a token, and two are behind the product.
module multiplier(
    input clk,
    input rst,
    input a_valid,
    input a_control,
    input [31:0] a_coordinate,
    input [15:0] a_reference,
    input [31:0] a_value,
    output a_ready,
    input b_valid,
    input b_control,
    input [31:0] b_coordinate,
    input [15:0] b_reference,
    input [31:0] b_value,
    output b_ready,
    output products_valid,
    output products_control,
    output [31:0] products_coordinate,
    output [31:0] products_reference,
    input products_ready,
    output pending
);
    reg full_a, full_b, full_first, full_second;
    reg [48:0] a;
    reg [15:0] b;
    reg [64:0] first, second;

    wire multiplies = full_a & full_b & ~full_second;
    wire signed [31:0] product = $signed(a[15:0]) * $signed(b);
    wire stays = full_first & ~products_ready;

    assign a_ready = ~full_a | multiplies;
    assign b_ready = ~full_b | multiplies;
    assign products_valid = full_first;
    assign {products_control, products_coordinate, products_reference} = first;
    assign pending = (full_a & full_b) | full_first;

    always @(posedge clk)
        if (rst) {full_a, full_b, full_first, full_second} <= 0;
        else begin
            full_a <= a_ready ? a_valid : 1'b1;
            full_b <= b_ready ? b_valid : 1'b1;
            full_first <= stays | full_second | multiplies;
            full_second <= stays & (full_second | multiplies);
        end

    always @(posedge clk) begin
        if (a_ready) a <= {a_control, a_coordinate, a_reference};
        if (b_ready) b <= b_reference;
        if (!full_second) second <= {a[48:16], product};
        if (!stays) first <= full_second ? second : {a[48:16], product};
    end
endmodule
