package memoryrules

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	firstPerson = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|my|we|our)\b|我`)
	passing     = regexp.MustCompile(`(?i)\b(?:` +
		strings.Join(slices.Sorted(maps.Keys(Words("passing"))), "|") +
		`|i (?:want|need|think|see|guess|get|got|tried|can't|cannot)|i'd like|i'll)\b|今天|明天|昨天|现在|刚才|目前|我想|我要|我需要`)
	// taste matches the parts of passing that are no request, such as "I like to …".
	taste = regexp.MustCompile(`(?i)^(?:and |but )?(?:i|we) (?:really |also )?(?:like|love|enjoy|hate|prefer) `)

	// Asking matches the start of a question without a question mark.
	Asking = regexp.MustCompile(`(?i)^(?:what|where|which|who|whose|when|why|how|do you|tell me|remind ` +
		`me)\b|什么|哪|谁|多少|怎么|如何|告诉我`)
	// ToRemember matches a request to remember the text after it.
	ToRemember = regexp.MustCompile(`(?i)^(?:(?:and|also|ok|okay|please|kindly|can you|could you|would you),? ` +
		`)*(?:(?:remember|memori[sz]e|keep in mind|don't forget)(?: that\b|[:,])?|(?:note|save|store|write)(?: ` +
		`down)?(?: that\b|:)) *` +
		`|^(?:请|麻烦|帮我|你|一定|要)*(?:记住|记下来?|记得|记一下|牢记|别忘了)[，,：:]?`)
)

// Facts returns users' statements about themselves that stay valid, unchanged: first those that
// they ask to remember, then lasting preferences.
func Facts(said []Sentence, most int) []string {
	var out, wished, told []string
	for _, s := range said {
		statement := ToRemember.ReplaceAllString(s.Raw, "")
		switch {
		case s.Role != "user" || s.Greeting:
		case statement != s.Raw:
			out = append(out, Capital(strings.TrimRight(statement, "?？ ")))
		case s.Question || Asking.MatchString(s.Raw):
		case s.Wish:
			wished = append(wished, s.Raw)
		case s.Imperative || !firstPerson.MatchString(s.Raw) || passing.MatchString(s.Raw):
		case taste.MatchString(s.Raw) || len(Asks([]Sentence{s})) == 0:
			told = append(told, s.Raw)
		}
	}
	return Distinct(slices.Concat(out, wished, told), most)
}

// enoughWords is the number of content words that a sentence needs to be noted.
const enoughWords = 4

// Telling returns the most informative sentences, in their order.
func Telling(said []Sentence, most int) []Sentence {
	told := slices.DeleteFunc(slices.Clone(said), func(s Sentence) bool {
		return s.Greeting || s.Question || Asking.MatchString(s.Raw) || len(Terms(s.Raw)) < enoughWords
	})
	ranked := slices.Clone(told)
	slices.SortStableFunc(ranked, func(a, b Sentence) int {
		return len(Terms(b.Raw)) - len(Terms(a.Raw))
	})
	ranked = ranked[:min(most, len(ranked))]
	return slices.DeleteFunc(told, func(s Sentence) bool { return !slices.Contains(ranked, s) })
}
