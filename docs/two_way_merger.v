// A merger of two ways, written by hand: takes the place of hw.merge.HighRadixMerger("...", 2).

module two_way_merger (
    input  wire        clk,
    input  wire        rst,

    input  wire        tasks_valid,
    input  wire [1:0]  tasks_coordinate,  // how many ways take part: 0, 1 or 2
    output wire        tasks_ready,

    input  wire        ways_0_valid,
    input  wire        ways_0_control,    // 0 an element, 1 the stop
    input  wire [31:0] ways_0_coordinate,
    input  wire [63:0] ways_0_reference,
    input  wire [63:0] ways_0_value,
    output wire        ways_0_ready,

    input  wire        ways_1_valid,
    input  wire        ways_1_control,
    input  wire [31:0] ways_1_coordinate,
    input  wire [63:0] ways_1_reference,
    input  wire [63:0] ways_1_value,
    output wire        ways_1_ready,

    output wire        merged_valid,
    output wire        merged_control,
    output wire [31:0] merged_coordinate,
    output wire [63:0] merged_reference,
    output wire [63:0] merged_value,
    input  wire        merged_ready
);
    reg       merging;
    reg [1:0] ways_held;
    reg       stopped_0, stopped_1;

    // A task is taken in the first cycle of its merge, and its first element may leave in that cycle.
    wire       active = merging | tasks_valid;
    wire [1:0] ways   = merging ? ways_held : tasks_coordinate;
    assign tasks_ready = ~merging;

    wire awaited_0 = active & (ways > 0) & ~stopped_0;
    wire awaited_1 = active & (ways > 1) & ~stopped_1;
    wire shown_0   = ways_0_valid | ~awaited_0;
    wire shown_1   = shown_0 & (ways_1_valid | ~awaited_1);

    // A stop is taken when it shows, once the way before it shows its head.
    wire stop_0 = awaited_0 & ways_0_valid & ways_0_control;
    wire stop_1 = awaited_1 & ways_1_valid & ways_1_control & shown_0;

    wire element_0 = awaited_0 & ways_0_valid & ~ways_0_control;
    wire element_1 = awaited_1 & ways_1_valid & ~ways_1_control;
    wire pick_1    = element_1 & (~element_0 | (ways_1_coordinate < ways_0_coordinate));
    wire element   = element_0 | element_1;

    assign merged_valid      = active & shown_1;
    assign merged_control    = ~element;
    assign merged_coordinate = pick_1 ? ways_1_coordinate : element_0 ? ways_0_coordinate : 32'd0;
    assign merged_reference  = pick_1 ? ways_1_reference : element_0 ? ways_0_reference : 64'd0;
    assign merged_value      = pick_1 ? ways_1_value : element_0 ? ways_0_value : 64'd0;

    wire sent     = merged_valid & merged_ready;
    wire finished = sent & ~element;
    assign ways_0_ready = stop_0 | (sent & element_0 & ~pick_1);
    assign ways_1_ready = stop_1 | (sent & pick_1);

    always @(posedge clk)
        if (rst) begin
            merging   <= 1'b0;
            ways_held <= 2'd0;
            stopped_0 <= 1'b0;
            stopped_1 <= 1'b0;
        end else begin
            merging   <= active & ~finished;
            ways_held <= ways;
            stopped_0 <= ~finished & (stopped_0 | stop_0);
            stopped_1 <= ~finished & (stopped_1 | stop_1);
        end
endmodule
