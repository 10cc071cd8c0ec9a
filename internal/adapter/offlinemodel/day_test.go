package offlinemodel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

// dayTools have the parameters of the reflection's tools.
var dayTools = []llm.Tool{
	offered("note_append", `{"type":"object","required":["observation","messages"],`+
		`"properties":{"observation":{"type":"string","maxLength":1000},"messages":{"type":"array",`+
		`"items":{"type":"integer"},"minItems":1}}}`),
	offered("memory_save", `{"type":"object","required":["content","messages"],`+
		`"properties":{"content":{"type":"string","maxLength":1000},"store":{"type":"string","enum":["core",`+
		`"profile"]},"messages":{"type":"array","items":{"type":"integer"},"minItems":1}}}`),
	offered("memory_replace", `{"type":"object","required":["store","match","content","messages"],`+
		`"properties":{"store":{"type":"string"},"match":{"type":"string"},"content":{"type":"string"},`+
		`"messages":{"type":"array","items":{"type":"integer"}}}}`),
}

// Notes contain only what was said, and each call refers to the message that contains it.
func TestADayIsNotedInItsOwnWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang, who, told, fact string
	}{
		{"en", "Ada", "We picked the blue tiles for the kitchen floor yesterday.", "I am allergic to peanuts."},
		{"en", "", "The tiler measured both bathrooms and ordered grey mortar.", "I live in a small flat in Oslo."},
		{"zh", "小李", "昨天我们给厨房的地面选了蓝色的瓷砖和灰色的填缝剂。", "我对花生过敏。"},
	} {
		t.Run(c.lang+c.who, func(t *testing.T) {
			t.Parallel()
			m := prompt.Material{Language: c.lang, Messages: []prompt.Message{
				{Index: 1, Role: "user", Name: c.who, Content: "Hello!"},
				{Index: 2, Role: "user", Name: c.who, Content: c.told},
				{Index: 3, Role: "user", Name: c.who, Content: c.fact},
				{Index: 4, Role: "user", Name: c.who, Content: c.fact + "!", Reviewed: true}}}
			user, err := prompt.User(m)
			if err != nil {
				t.Fatal(err)
			}
			calls := loop(t, llm.Request{System: "Look back over the day.", Messages: llm.User(user)}, dayTools)
			if noted := of(calls, "note_append"); len(noted) == 0 ||
				!strings.Contains(fmt.Sprint(noted[0].arguments["observation"]), strings.Trim(c.told, "。.")) ||
				fmt.Sprint(noted[0].arguments["messages"]) != "[2]" {
				t.Errorf("noted %+v", noted)
			} else if c.who != "" && !strings.HasPrefix(fmt.Sprint(noted[0].arguments["observation"]), c.who) {
				t.Errorf("no message contains %q", noted[0].arguments["observation"])
			}
			saved := of(calls, "memory_save")
			if len(saved) != 1 || saved[0].arguments["content"] != c.fact ||
				!strings.HasPrefix(fmt.Sprint(saved[0].arguments["messages"]), "[3") {
				t.Errorf("saved %+v", saved)
			}
			if others := of(calls, "memory_replace"); len(others) > 0 {
				t.Errorf("called %+v", others)
			}
		})
	}
}

func of(calls []made, tool string) []made {
	return slices.DeleteFunc(slices.Clone(calls), func(c made) bool { return c.tool != tool })
}
