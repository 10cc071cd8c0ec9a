package offlinemodel

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/prompt"
)

// view contains the annotations of the material, or of the part that belongs to one item of a list.
type view struct {
	request
	chinese   bool
	mask      memoryrules.Mask
	messages  []prompt.Message       // as received, not masked
	sentences []memoryrules.Sentence // of the messages except results, which are looked up but never quoted
	calls     []memoryrules.Call
	main      memoryrules.Call // the call that the others prepare
	file      prompt.FilePlan  // the planned file, for an item of a list of files
	learnt    *skill           // computed by learn
}

func look(req request) *view {
	v := &view{request: req, mask: memoryrules.NewMask(slices.Concat(req.material.Messages, req.material.History))}
	for _, m := range req.material.Messages {
		if m.Role != "tool" {
			v.sentences = append(v.sentences, v.mask.Sentences(m)...)
		}
	}
	said := texts(v.pick(func(s memoryrules.Sentence) bool { return s.Role == "user" }))
	v.chinese = cmp.Or(req.material.Language, lang.Detect(strings.Join(said, " "))) == lang.Chinese
	if v.live {
		v.material.Question = v.asked()
	}
	return v.over(req.material.Messages)
}

// over returns the view of some of the messages.
func (v *view) over(messages []prompt.Message) *view {
	part := *v
	part.messages, part.learnt = messages, nil
	part.calls = memoryrules.Calls(messages)
	part.main = mainCall(part.calls)
	part.sentences = v.pick(func(s memoryrules.Sentence) bool {
		return slices.ContainsFunc(messages, func(m prompt.Message) bool { return m.Index == s.Index })
	})
	return &part
}

// mainCall returns the first successful call of the tool that the others prepare. It is the tool
// with most successes among those that change something, else with most attempts, else with most
// reads. Any tool of the first group outranks all of the last.
func mainCall(calls []memoryrules.Call) (main memoryrules.Call) {
	weight := map[string]int{}
	for _, c := range calls {
		switch {
		case c.Changes() && !c.Failed:
			weight[c.Tool] += 1_000_000
		case c.Changes():
			weight[c.Tool] += 1000
		case !c.Checks():
			weight[c.Tool]++
		}
	}
	for _, c := range calls {
		better := c.Tool == main.Tool && main.Failed && !c.Failed
		if better || main.Tool == "" || weight[c.Tool] > weight[main.Tool] {
			main = c
		}
	}
	return main
}

//go:embed phrases.json
var phrasesFile []byte

// phrases are the texts that join the parts of the material, in English and Chinese.
var phrases = memoryrules.Load[map[string][2]string](phrasesFile)

// say renders a phrase in the language of the view.
func (v *view) say(key string, values ...any) string {
	form := phrases[key][0]
	if v.chinese {
		form = phrases[key][1]
	}
	return fmt.Sprintf(form, values...)
}

// list renders a phrase about words. It is empty if there are no words.
func (v *view) list(key string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	if last := len(words) - 1; last > 0 {
		words = []string{strings.Join(words[:last], v.say("comma")), words[last]}
	}
	return v.say(key, strings.Join(words, v.say("and")))
}
