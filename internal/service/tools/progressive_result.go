package tools

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/service/longterm"
)

// itemsResult answers a call that changes memories.
type itemsResult struct {
	Text  string                `json:"text" jsonschema:"one line for each item"`
	Items []longterm.ItemResult `json:"items"`
}

// textResult answers a call with what a model reads.
type textResult struct {
	Text string `json:"text"`
}

// retrieved answers a search.
type retrieved struct {
	Text   string                `json:"text" jsonschema:"one memory a line"`
	IDs    []string              `json:"memory_ids"`
	Failed []longterm.ItemResult `json:"failed,omitempty"`
}

// both joins what was done with what did not fit, in the order of the call.
func both(done, bad []longterm.ItemResult) (itemsResult, error) {
	all := slices.Concat(done, bad)
	slices.SortFunc(all, func(a, b longterm.ItemResult) int { return a.Index - b.Index })
	if err := longterm.AllFailed(all); err != nil {
		return itemsResult{}, err
	}
	lines := make([]string, len(all))
	for i, one := range all {
		lines[i] = line(one, len(all) > 1)
	}
	return itemsResult{Text: strings.Join(lines, "\n"), Items: all}, nil
}

// line is what a model is told of one item.
func line(i longterm.ItemResult, numbered bool) string {
	text := i.Status
	switch {
	case i.Status == longterm.Failed:
		text = fmt.Sprintf("error: %s: %s", i.Code, i.Message)
		if i.Hint != "" {
			text += "; " + i.Hint
		}
	case i.ID != "":
		text += " memory_id=" + i.ID
	}
	if i.Merged != "" {
		text += ", of which " + i.Merged + " is part now"
	}
	if numbered {
		return fmt.Sprintf("item %d: %s", i.Index, text)
	}
	return text
}
