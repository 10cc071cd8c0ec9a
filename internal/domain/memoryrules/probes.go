package memoryrules

import (
	"fmt"
	"strings"

	"cairn/internal/domain/prompt"
)

// A question about a sentence contains its beginning, and the answer is its end.

// usualProbes is the default number of questions.
const usualProbes = 3

// probes returns questions about the most informative sentences.
func probes(m prompt.Material) any {
	said := sentences(m)
	most := m.Limits["max_probes"]
	if most == 0 {
		most = usualProbes
	}
	form := "How does this go on: %s …?"
	if m.Language == "zh" {
		form = "这句话怎么接：%s……？"
	}
	out := []any{}
	for _, s := range Telling(said, most) {
		begins, ends := halves(strings.TrimRight(stamp.ReplaceAllString(s.Raw, ""), ".!。！ "))
		if len(Terms(ends)) > 0 {
			out = append(out, map[string]any{"question": fmt.Sprintf(form, begins), "answer": ends,
				"evidence": []int{s.Index}})
		}
	}
	return out
}

// halves divides a sentence before its last two words. A sentence without spaces is divided in the
// middle.
func halves(text string) (begins, ends string) {
	if words := strings.Fields(text); len(words) > 3 {
		return strings.Join(words[:len(words)-2], " "), strings.Join(words[len(words)-2:], " ")
	}
	runes := []rune(text)
	return string(runes[:len(runes)/2]), string(runes[len(runes)/2:])
}
