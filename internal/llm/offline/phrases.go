package offline

import (
	_ "embed"
	"fmt"
	"strings"

	"cairn/internal/llm/offline/notice"
)

//go:embed phrases.json
var phrasesFile []byte

// phrases join what the material gives, in English and Chinese.
var phrases = notice.Load[map[string][2]string](phrasesFile)

// say renders a phrase in the language of the view.
func (v *view) say(key string, values ...any) string {
	form := phrases[key][0]
	if v.chinese {
		form = phrases[key][1]
	}
	if len(values) == 0 {
		return form
	}
	return fmt.Sprintf(form, values...)
}

// list renders a phrase about words, nothing when there are none.
func (v *view) list(key string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	last := len(words) - 1
	head := strings.Join(words[:last], v.say("comma"))
	if head != "" {
		head += v.say("and")
	}
	return v.say(key, head+words[last])
}
