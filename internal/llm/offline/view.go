package offline

import (
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

// view is what was noticed about the material, or about the part of it that an
// item of a list stands for. Texts are masked unless their name says raw.
type view struct {
	request
	chinese   bool
	mask      notice.Mask
	messages  []prompt.Message // Content masked, empty for results; ToolCalls as they came
	raw       []prompt.Message
	calls     []notice.Call
	sentences []notice.Sentence
	noted     map[noteKey]note
	file      prompt.FilePlan // what an item of a list of files stands for
	learnt    *skill          // see learn
}

// note is a message after masking, empty for results, and its sentences.
type note struct {
	content   string
	sentences []notice.Sentence
}

type noteKey struct {
	index         int
	role, content string
}

func look(req request) *view {
	v := &view{request: req, mask: notice.NewMask(slices.Concat(req.material.Messages, req.material.History))}
	v.noted = map[noteKey]note{}
	for _, m := range req.material.Messages {
		if m.Role != "tool" { // results are looked up raw, never quoted
			v.noted[noteKey{m.Index, m.Role, m.Content}] = note{v.mask.Hide(m.Content, m.Role == "system"), v.mask.Sentences(m)}
		}
	}
	return v.over(req.material.Messages)
}

// over is the view of some of the messages, under the same mask.
func (v *view) over(messages []prompt.Message) *view {
	part := &view{request: v.request, mask: v.mask, noted: v.noted, raw: messages, calls: notice.Calls(messages)}
	said := ""
	for _, m := range messages {
		n := v.noted[noteKey{m.Index, m.Role, m.Content}]
		part.sentences = append(part.sentences, n.sentences...)
		if m.Role == "user" {
			said += m.Content
		}
		m.Content = n.content
		part.messages = append(part.messages, m)
	}
	if draft := v.material.Draft; said == "" && draft != nil {
		said = draft.Description + draft.Procedure
	}
	part.chinese = notice.MostlyHan(said)
	if wanted := v.material.Language; wanted != "" {
		part.chinese = strings.HasPrefix(wanted, "zh")
	}
	return part
}
