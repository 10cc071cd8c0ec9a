package tools

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/service/memory"
)

// itemsResult is the result of a call that changes memories.
type itemsResult struct {
	Text  string              `json:"text" jsonschema:"one line per item"`
	Items []memory.ItemResult `json:"items"`
}

// textResult is a result with text for the model.
type textResult struct {
	Text string `json:"text"`
}

// retrieved is the result of a search.
type retrieved struct {
	Text   string              `json:"text" jsonschema:"one memory per line"`
	IDs    []string            `json:"memory_ids"`
	Failed []memory.ItemResult `json:"failed,omitempty"`
}

// maxItemMessage is the maximum length in characters of the error of one item, so that with code and hint it is as
// short as the error of a call.
const maxItemMessage = 160

// both joins the results of valid and invalid items, in the order of the call.
func both(done, bad []memory.ItemResult) (itemsResult, error) {
	all := slices.Concat(done, bad)
	slices.SortFunc(all, func(a, b memory.ItemResult) int { return a.Index - b.Index })
	if err := memory.AllFailed(all); err != nil {
		return itemsResult{}, err
	}
	lines := make([]string, len(all))
	for i, one := range all {
		one.Message, one.Hint = fitting(one.Message, maxItemMessage), fitting(one.Hint, minHint)
		all[i], lines[i] = one, line(one, len(all) > 1)
	}
	return itemsResult{Text: strings.Join(lines, "\n"), Items: all}, nil
}

// line formats the result of one item for the model.
func line(i memory.ItemResult, numbered bool) string {
	text := i.Status
	switch {
	case i.Status == memory.Failed:
		text = fmt.Sprintf("error: %s: %s", i.Code, i.Message)
		if i.Hint != "" {
			text += "; " + i.Hint
		}
	case i.ID != "":
		text += " memory_id=" + i.ID
	}
	if i.Merged != "" {
		text += ", which now includes " + i.Merged
	}
	if numbered {
		return fmt.Sprintf("item %d: %s", i.Index, text)
	}
	return text
}
