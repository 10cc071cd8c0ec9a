package offline

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// phrases join what the material gives, in English and Chinese.
var phrases = func() (all map[string][2]string) {
	if err := json.Unmarshal(phrasesFile, &all); err != nil {
		panic("offline: phrases.json: " + err.Error())
	}
	return all
}()

//go:embed phrases.json
var phrasesFile []byte

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

// series joins words as a sentence does.
func (v *view) series(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], v.say("comma")) + v.say("and") + words[last]
}
