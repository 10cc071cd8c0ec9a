package notice

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed words.json
var wordsFile []byte

var (
	stopWords = Words("stop")
	word      = regexp.MustCompile(`\[[a-z]+\]|\p{Han}+|[\p{Latin}\p{Greek}\p{Cyrillic}][\p{Latin}\p{Greek}\p{Cyrillic}\p{N}'’-]*`)
	// Han characters that rarely carry a topic by themselves.
	stopRunes = "的了是我你他她它们在和有就不都也很要会这那吗呢吧请把被给让对与及或但而且如果因为所以个一二三两什么怎么可以没还再先后能上下中里来去说想用到过着得地从并等时好您谢何如啊哦嗯帮"
)

// Words gives a list of words.json: stop, vague, fillers, bounds,
// actions, readers or checkers.
func Words(list string) map[string]bool {
	var lists map[string][]string
	if err := json.Unmarshal(wordsFile, &lists); err != nil {
		panic("notice: words.json: " + err.Error())
	}
	out := map[string]bool{}
	for _, w := range strings.Fields(strings.Join(lists[list], " ")) {
		out[w] = true
	}
	return out
}

// Terms are the content words of a text: words lower-cased and stemmed, Han
// characters in pairs; no placeholders and no stop words.
func Terms(text string) []string {
	var out []string
	for _, w := range word.FindAllString(strings.ReplaceAll(text, "_", " "), -1) {
		if runes := []rune(w); unicode.Is(unicode.Han, runes[0]) {
			for i := range len(runes) - 1 {
				if !strings.ContainsAny(string(runes[i:i+2]), stopRunes) {
					out = append(out, string(runes[i:i+2]))
				}
			}
			continue
		}
		w = strings.ToLower(strings.ReplaceAll(w, "’", "'"))
		if w[0] != '[' && !stopWords[w] && len(w) > 1 {
			out = append(out, stem(w))
		}
	}
	return out
}

// stem cuts common English endings, so that a verb, its forms and its noun meet.
func stem(w string) string {
	for _, ending := range []string{"'s", "ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "s", "e"} {
		cut := strings.TrimSuffix(w, ending)
		if cut == w || len(cut) < 3 || strings.HasSuffix(w, "ss") {
			continue
		}
		if w = cut; ending == "ied" || ending == "ies" {
			return w + "y"
		}
		break
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeious", rune(w[n-1])) {
		w = w[:n-1]
	}
	return strings.TrimSuffix(w, "e")
}

// Frequent returns up to n of the words by falling count, earlier ones first.
func Frequent(words []string, n int) []string {
	count := map[string]int{}
	for _, w := range words {
		count[w]++
	}
	out := Distinct(words, len(words))
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return out[:min(n, len(out))]
}

// Distinct drops empty texts and repetitions and keeps at most n.
func Distinct(texts []string, n int) []string {
	seen, out := map[string]bool{"": true}, []string{}
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if key := strings.ToLower(text); !seen[key] && len(out) < n {
			seen[key] = true
			out = append(out, text)
		}
	}
	return out
}

// Share is the part of the distinct wanted words that text has, 0 to 1.
func Share(wanted, text []string) float64 {
	wanted, hits := Distinct(wanted, len(wanted)), 0
	for _, w := range wanted {
		if slices.Contains(text, w) {
			hits++
		}
	}
	return float64(hits) / float64(max(1, len(wanted)))
}

// IsStop reports whether a word says how something is said, not what about.
func IsStop(w string) bool { return stopWords[strings.ToLower(w)] }

// Joins reports whether a word only joins others, such as "to" and "of".
func Joins(w string) bool { return bounds[w] }

// Spelling gives for each term the word that it was first written as, in lower
// case. lower leaves out words that are always capitalised.
func Spelling(text string, lower bool) map[string]string {
	out := map[string]string{}
	for _, w := range word.FindAllString(strings.ReplaceAll(text, "_", " "), -1) {
		found := Terms(w)
		for _, term := range found {
			switch {
			case out[term] != "":
			case len(found) > 1 || unicode.Is(unicode.Han, []rune(term)[0]):
				out[term] = term
			case !lower || w == strings.ToLower(w):
				out[term] = strings.ToLower(w)
			}
		}
	}
	return out
}

// Title writes words as a heading, with joining words left small.
func Title(words []string) string {
	out := slices.Clone(words)
	for i, w := range out {
		if i == 0 || !bounds[w] {
			out[i] = Capital(w)
		}
	}
	return strings.Join(out, " ")
}

// Capital is a text with its first letter in upper case.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
