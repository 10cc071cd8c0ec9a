package workingmemory

import (
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
)

// Mode is how a thread is shortened.
type Mode string

const (
	ByCompact  Mode = "compact"  // offload big tool results; needs no model
	ByCompress Mode = "compress" // replace older messages by snapshots from a model
	ByAuto     Mode = "auto"     // compact, then compress if the thread is still too long
)

// Modes are all modes, in the order of error messages.
var Modes = []Mode{ByCompact, ByCompress, ByAuto}

// Options configure how a thread is shortened. Zero values mean the defaults.
type Options struct {
	Mode        Mode `json:"mode"`
	TotalTokens int  `json:"total_tokens"` // of the older messages; with fewer, the thread is unchanged
	ToolTokens  int  `json:"tool_tokens"`  // size of a tool result above which it is offloaded
	KeepRecent  int  `json:"keep_recent"`  // messages at the end that are unchanged, at least the last user turn
	Preview     int  `json:"preview"`      // runes of offloaded content that stay in the message
	GroupTokens int  `json:"group_tokens"` // of the messages of one snapshot
	// Ratio applies to auto: tokens after compaction divided by tokens before. Above it, the thread
	// is also compressed.
	Ratio float64 `json:"compact_ratio"`
}

// Defaults and bounds. The first four are those of the reference implementation.
const (
	usualTotal   = 20_000
	usualTool    = 2_000
	usualRatio   = 0.75
	usualKeep    = 10
	usualPreview = 200
	usualGroup   = 12_000

	maxTokens  = 1_000_000
	maxKeep    = 1_000
	maxPreview = 4_000
	minGroup   = 200
)

// Complete returns o with defaults, or fault.InvalidArgument for a value out of range. KeepRecent
// and Preview can be 0, so -1 selects their default.
func (o Options) Complete() (Options, error) {
	if o.Mode == "" {
		o.Mode = ByAuto
	}
	if !slices.Contains(Modes, o.Mode) {
		return o, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown mode %q", o.Mode),
			"use compact, compress or auto")
	}
	for _, f := range []struct {
		name               string
		value              *int
		usual, least, most int
		unset              int
	}{
		{"max_total_tokens", &o.TotalTokens, usualTotal, 1, maxTokens, 0},
		{"max_tool_message_tokens", &o.ToolTokens, usualTool, 1, maxTokens, 0},
		{"keep_recent", &o.KeepRecent, usualKeep, 0, maxKeep, -1},
		{"preview_chars", &o.Preview, usualPreview, 0, maxPreview, -1},
		{"group_tokens", &o.GroupTokens, usualGroup, minGroup, maxTokens, 0},
	} {
		if *f.value == f.unset {
			*f.value = f.usual
		}
		if *f.value < f.least || *f.value > f.most {
			return o, fault.Newf(fault.InvalidArgument, "%s is %d, must be %d to %d", f.name, *f.value, f.least,
				f.most)
		}
	}
	if o.Ratio == 0 {
		o.Ratio = usualRatio
	}
	if o.Ratio < 0 || o.Ratio > 1 {
		return o, fault.Newf(fault.InvalidArgument, "compact_ratio is %g, must be above 0 and at most 1", o.Ratio)
	}
	return o, nil
}
