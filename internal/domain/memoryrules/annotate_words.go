package memoryrules

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/lexical"
)

//go:embed words.json
var wordsFile []byte

var (
	stopWords = Words("stop")
	word      = regexp.MustCompile(`\[[a-z]+\]|\p{Han}+|[\p{Latin}\p{Greek}\p{Cyrillic}][\p{Latin}\p{Greek}` +
		`\p{Cyrillic}\p{N}'’-]*`)
	stopRunes = strings.Join(list("stop runes"), "") // Han characters that rarely have a topic
	nounEnd   = regexp.MustCompile(`(?:(l)l?)?(?:ation)?$`)
)

// Load decodes an embedded JSON file of words.
func Load[T any](file []byte) (content T) {
	if err := json.Unmarshal(file, &content); err != nil {
		panic("offline: an embedded file: " + err.Error())
	}
	return content
}

// list returns the words of a list of words.json.
func list(name string) []string {
	return strings.Fields(strings.Join(Load[map[string][]string](wordsFile)[name], " "))
}

// Words returns a list of words.json as a set.
func Words(name string) map[string]bool {
	out := map[string]bool{}
	for _, w := range list(name) {
		out[w] = true
	}
	return out
}

// term is a content word: its stem and its written form.
type term struct{ stem, written string }

// terms returns the content words of a text, without placeholders and stop words. Han characters
// are taken in pairs.
func terms(text string) []term {
	var out []term
	for _, w := range word.FindAllString(strings.ReplaceAll(text, "_", " "), -1) {
		if w[0] == '[' || IsStop(w) {
			continue
		}
		stems := lexical.Words(w)
		for _, stem := range stems {
			if len(stems) > 1 {
				w = stem // a pair, or a part of a compound
			}
			if len(stem) > 1 && !strings.ContainsAny(stem, stopRunes) {
				out = append(out, term{nounEnd.ReplaceAllString(stem, "$1"), w})
			}
		}
	}
	return out
}

// Terms returns the stems of a text's content words.
func Terms(text string) []string { return Each(terms(text), func(t term) string { return t.stem }) }

// Each returns f of each item.
func Each[T, R any](items []T, f func(T) R) []R {
	var out []R
	for _, item := range items {
		out = append(out, f(item))
	}
	return out
}

// KeyWords returns the most frequent content words of a text in lower case, in their first written
// form. lower excludes capitalized words.
func KeyWords(text string, n int, lower bool) []string {
	var keys []string
	written := map[string]string{}
	for _, t := range terms(text) {
		if small := strings.ToLower(t.written); !lower || t.written == small {
			keys = append(keys, t.stem)
			written[t.stem] = cmp.Or(written[t.stem], small)
		}
	}
	keys = Frequent(keys, n)
	for i, key := range keys {
		keys[i] = written[key]
	}
	return keys
}

// Frequent returns up to n words by decreasing count. Of equal counts, earlier words are first.
func Frequent(words []string, n int) []string {
	count := map[string]int{}
	for _, w := range words {
		count[w]++
	}
	out := Distinct(words, len(words))
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return out[:min(n, len(out))]
}

// Distinct removes empty texts and repetitions, and keeps at most n.
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

// Share returns the fraction, 0 to 1, of the distinct wanted words that text has.
func Share(wanted, text []string) float64 {
	wanted = Distinct(wanted, len(wanted))
	missing := slices.DeleteFunc(slices.Clone(wanted), func(w string) bool { return slices.Contains(text, w) })
	return float64(len(wanted)-len(missing)) / float64(max(1, len(wanted)))
}

// IsStop reports whether a word has no topic of its own.
func IsStop(w string) bool {
	return stopWords[strings.ToLower(w)] || lexical.IsStopword(strings.ToLower(w))
}

// Joins reports whether a word only joins other words, such as "to" and "of".
func Joins(w string) bool { return bounds[w] }

// Title returns text as a heading, with joining words in lower case.
func Title(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if i == 0 || !bounds[w] {
			words[i] = Capital(w)
		}
	}
	return strings.Join(words, " ")
}

// Capital returns text with an upper-case first letter.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
