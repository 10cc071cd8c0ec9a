package transcript_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
)

func ExampleClip() {
	fmt.Println(transcript.Clip("0123456789abcdefghij", 10))
	// Output:
	// 012345
	// [… 11 characters left out …]
	// hij
}

func TestClipCountsRunesAndKeepsShortText(t *testing.T) {
	if got := transcript.Clip("十个汉字不会被截断啊", 10); got != "十个汉字不会被截断啊" {
		t.Errorf("cut although it fits: %q", got)
	}
	if got := transcript.Clip(strings.Repeat("汉", 100), 10); strings.Count(got, "汉") != 9 ||
		!strings.Contains(got, " 91 ") {
		t.Errorf("got %q", got)
	}
	if got := transcript.Clip("abc", 0); got != "abc" {
		t.Errorf("0 must not clip, got %q", got)
	}
}

func TestMaterialClipsToolsOnlyAndDropsEmptyMessages(t *testing.T) {
	long := strings.Repeat("x", 50)
	got := transcript.Material([]transcript.Message{
		{Seq: 0, Role: transcript.User, Content: long},
		{Seq: 1, Role: transcript.Assistant, Content: " \n"},
		{Seq: 2, Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{Name: "ls", Arguments: `{"a":1}`}}},
		{Seq: 3, Role: transcript.Tool, Name: "ls", Content: long},
	}, 10)
	want := []prompt.Message{
		{Index: 0, Role: "user", Content: long},
		{Index: 2, Role: "assistant", ToolCalls: []string{`ls({"a":1})`}},
		{Index: 3, Role: "tool", Name: "ls", Content: "xxxxxx\n[… 41 characters left out …]\nxxx"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
