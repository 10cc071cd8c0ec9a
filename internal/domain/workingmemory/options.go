package workingmemory

import (
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
)

// Mode is how a thread is shortened.
type Mode string

const (
	ByCompact  Mode = "compact"  // big tool results are put away; needs no model
	ByCompress Mode = "compress" // what is older becomes snapshots that a model makes
	ByAuto     Mode = "auto"     // compact, and compress when that did not shorten enough
)

// Modes are all of them, as errors list them.
var Modes = []Mode{ByCompact, ByCompress, ByAuto}

// Options are how a thread is shortened. Zero values mean the defaults.
type Options struct {
	Mode        Mode `json:"mode"`
	TotalTokens int  `json:"total_tokens"` // of what is older: up to here nothing is done
	ToolTokens  int  `json:"tool_tokens"`  // a tool result above it is put away
	KeepRecent  int  `json:"keep_recent"`  // messages at the end that are left alone, the last user's turn at least
	Preview     int  `json:"preview"`      // runes of what is put away that stay
	GroupTokens int  `json:"group_tokens"` // of the messages that one snapshot stands for
	// with auto: tokens after compaction to those before, above which it was not enough
	Ratio float64 `json:"compact_ratio"`
}

// Defaults and bounds; the first four are the reference's.
const (
	usualTotal   = 20_000
	usualTool    = 2_000
	usualRatio   = 0.75
	usualKeep    = 10
	usualPreview = 200
	usualGroup   = 12_000

	mostTokens  = 1_000_000
	mostKeep    = 1_000
	mostPreview = 4_000
	leastGroup  = 200
)

// Complete fills in what was left open, and refuses what is out of range. Keep
// and preview may be 0 on purpose: -1 is their default.
func (o Options) Complete() (Options, error) {
	if o.Mode == "" {
		o.Mode = ByAuto
	}
	if !slices.Contains(Modes, o.Mode) {
		return o, fault.New(fault.InvalidArgument, fmt.Sprintf("there is no mode %q", o.Mode),
			"use compact, compress or auto")
	}
	for _, f := range []struct {
		name               string
		value              *int
		usual, least, most int
		unset              int
	}{
		{"max_total_tokens", &o.TotalTokens, usualTotal, 1, mostTokens, 0},
		{"max_tool_message_tokens", &o.ToolTokens, usualTool, 1, mostTokens, 0},
		{"keep_recent", &o.KeepRecent, usualKeep, 0, mostKeep, -1},
		{"preview_chars", &o.Preview, usualPreview, 0, mostPreview, -1},
		{"group_tokens", &o.GroupTokens, usualGroup, leastGroup, mostTokens, 0},
	} {
		if *f.value == f.unset {
			*f.value = f.usual
		}
		if *f.value < f.least || *f.value > f.most {
			return o, fault.Newf(fault.InvalidArgument, "%s is %d, and must be %d to %d", f.name, *f.value, f.least,
				f.most)
		}
	}
	if o.Ratio == 0 {
		o.Ratio = usualRatio
	}
	if o.Ratio < 0 || o.Ratio > 1 {
		return o, fault.Newf(fault.InvalidArgument, "compact_ratio is %g, and must be above 0 and at most 1", o.Ratio)
	}
	return o, nil
}
