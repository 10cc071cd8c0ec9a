package memoryagent_test

import (
	"fmt"
	"testing"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/memoryagent"
)

// The target is often an ID. A model names the subject as the messages do, if they name one user only.
func TestTheSoleSpeakerIsTheSubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reply = func(prompt.Material) any {
		his := fact("add", "", "Caroline paints.", 0)
		his["about"] = "Caroline"
		return facts(his)
	}
	said := func(seq int, role transcript.Role, name string) transcript.Message {
		return transcript.Message{Seq: seq, Role: role, Name: name, Content: fmt.Sprintf("Line %d.", seq)}
	}
	for who, messages := range map[string][]transcript.Message{
		"u-17": {said(0, transcript.User, "Caroline"), said(1, transcript.Assistant, "Melanie"),
			said(2, transcript.User, "Caroline")},
		"u-18": {said(0, transcript.User, "Caroline"), said(1, transcript.User, "Melanie")},
		"u-19": {said(0, transcript.User, "Caroline"), said(1, transcript.User, "")},
	} {
		r := b.addSaid(who, messages...)
		b.run(who)
		got := b.report(r)
		added := len(got.Tasks) == 1 && len(got.Tasks[0].Added) == 1
		if sole := who == "u-17"; added != sole || (got.Dropped[memoryagent.OtherSubject] == 1) == sole {
			t.Errorf("%s: %+v, dropped %v", who, got.Tasks, got.Dropped)
		}
	}
}
