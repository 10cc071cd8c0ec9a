package notice

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	vague, fillers, bounds = Words("vague"), Words("fillers"), Words("bounds")

	asked = regexp.MustCompile(`(?i)\b(?:(?:want|need|like|wish|trying|try|help|hope|love|wanted|able|planning) (?:you |me |us )?to|(?:can|could) (?:you|i|we)|help (?:me|us)|please|would you|let's|how (?:do|can|should|would) (?:i|we|you|one)|how to)` +
		` (?:please |also |just |then |kindly |maybe |possibly |help (?:me )?|to )*([a-z]{3,})\s+([^.,;:!?\n()]+)`)
	askedHan = regexp.MustCompile(`(?:我想要?|我要|我需要|我们要|请问|麻烦你?|帮我|帮忙|如何|怎么样?|怎样|能不能|可以)(?:帮我|请|去|怎么|如何)?([\p{Han}A-Za-z0-9 ]{2,16})`)
	plural   = regexp.MustCompile(`(..[^sui])s$`)
	noiseHan = regexp.MustCompile(`一下|一个|一次|一份|一篇|一些|我们的|我的|这个|那个|你的|[的了吗呢吧呀啊].*$`)
)

// Asks are what users ask for as verb and object, most frequent first:
// "could you please rotate the old keys" gives "rotate key".
func Asks(sentences []Sentence) []string {
	var out []string
	for _, s := range sentences {
		if s.Role != "user" || s.Wish {
			continue
		}
		pairs := asked.FindAllStringSubmatch(s.Text, -1)
		if verb, rest, _ := strings.Cut(s.Text, " "); actions[strings.ToLower(verb)] {
			pairs = append(pairs, []string{s.Text, verb, rest})
		}
		for _, pair := range pairs {
			verb, object := strings.ToLower(pair[1]), object(pair[2], sentences)
			if object != "" && !vague[verb] && !IsStop(verb) {
				out = append(out, verb+" "+object)
			}
		}
		for _, match := range askedHan.FindAllStringSubmatch(s.Text, -1) {
			phrase := noiseHan.ReplaceAllString(strings.TrimSpace(match[1]), "")
			if n := utf8.RuneCountInString(phrase); n >= 2 && n <= 10 {
				out = append(out, phrase)
			}
		}
	}
	return Frequent(out, 6)
}

// object is the head of the noun phrase that a text starts with, with the word
// before it when users put the two together more than once.
func object(text string, sentences []Sentence) string {
	var phrase []string
	for _, written := range strings.Fields(text) {
		w := strings.ToLower(strings.Trim(written, `"'*()`+"`"))
		foreign := func(r rune) bool { return !unicode.Is(unicode.Latin, r) && r != '-' }
		if w == "" || bounds[w] || strings.ContainsFunc(w, foreign) {
			break
		}
		if !fillers[w] && !strings.HasSuffix(w, "ly") {
			phrase = append(phrase, w)
		}
	}
	last := len(phrase) - 1
	if last < 0 || IsStop(phrase[last]) {
		return ""
	}
	head := phrase[last]
	together := 0
	for _, s := range sentences {
		if last > 0 && s.Role == "user" {
			together += strings.Count(s.Text, phrase[last-1]+" "+head) // as written: no proper nouns
		}
	}
	head = plural.ReplaceAllString(head, "$1")
	if together > 1 {
		head = phrase[last-1] + " " + head
	}
	return head
}
