// Package corpus generates texts for measurements of search. The same seed gives the same texts on
// every machine, and a row is generated without the rows before it.
//
//	rows := corpus.Synthetic(1)
//	rows.Text(41)      // The guildbac of towncab keeps …
//	rows.Question(41)  // which only row 41 answers with all words
package corpus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Rows is a collection of texts by number, from 0 on.
type Rows struct {
	Name, Title string
	row         func(n int) row
	frequent    []string // the most frequent words, most frequent first
	seed        uint64
}

// row is a text with the words that identify it, rarest first.
type row struct {
	text   string
	words  []string
	common string // a frequent word of the text
}

// Text returns the text of row n.
func (r Rows) Text(n int) string { return r.row(n).text }

// questionWords is the least number of rare words in a question. No other row of a million is
// likely to hold all of them.
const questionWords = 4

// Question returns a question all of whose words row n holds: rare ones, and a frequent one.
func (r Rows) Question(n int) string {
	from := r.row(n)
	words := slices.Clone(from.words)
	random := rand.New(rand.NewPCG(r.seed+1, uint64(n)))
	random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(append(words[:min(len(words), questionWords+random.IntN(3))], from.common), " ")
}

// Frequent returns the n-th query of count words that many rows hold.
func (r Rows) Frequent(n, count int) string {
	random := rand.New(rand.NewPCG(r.seed+2, uint64(n)))
	words := slices.Clone(r.frequent)
	random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words[:min(count, len(words))], " ")
}

// Mixed returns the n-th query of count words, half of them frequent and half of them from one of
// rows texts.
func (r Rows) Mixed(n, count, rows int) string {
	random := rand.New(rand.NewPCG(r.seed+3, uint64(n)))
	words := slices.Clone(r.row(random.IntN(rows)).words)
	random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words[:min(count-count/2, len(words))], " ") + " " + r.Frequent(n, count/2)
}

// field is one place in a synthetic sentence, filled with one of size words.
type field struct {
	name string
	size int
}

var fields = []field{{"guild", 300}, {"town", 400}, {"beast", 250}, {"cellar", 350}, {"gate", 200}, {"year", 90},
	{"coin", 60}, {"guard", 40}}

func (f field) word(n int) string {
	return fmt.Sprintf("%s%c%c%c", f.name, 'b'+n%5, 'a'+n/5%20, 'c'+n/100%20)
}

// Synthetic returns rows of about 11 terms in one form of sentence: every word occurs in
// many rows, and a few in all.
func Synthetic(seed uint64) Rows {
	r := Rows{Name: "s", Title: "S, sentences of one form", seed: seed,
		frequent: []string{"keeps", "paid", "watched"}}
	for _, f := range fields[len(fields)-2:] {
		for n := range 3 {
			r.frequent = append(r.frequent, f.word(n))
		}
	}
	r.row = func(n int) row {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		w := make([]any, len(fields))
		out := row{common: "keeps"}
		for i, f := range fields {
			word := f.word(random.IntN(f.size))
			w[i], out.words = word, append(out.words, word)
		}
		out.words = out.words[:6]
		out.text = fmt.Sprintf("The %s of %s keeps a %s in %s at %s since %s, paid in %s, watched by %s.", w...)
		return out
	}
	return r
}

// Limits of the texts by Zipf.
const (
	zipfWords   = 200_000
	zipfLength  = 20
	zipfCommon  = 30 // words from which Frequent chooses
	zipfAsked   = 12 // rarest words of a text, from which questions are made
	zipfShape   = 1.1
	zipfFlatten = 20
)

// Zipf returns texts of 20 different words of 200,000, with the frequencies of a language.
func Zipf(seed uint64) Rows {
	r := Rows{Name: "z", Title: "Z, 200,000 words by Zipf", seed: seed}
	for k := range uint64(zipfCommon) {
		r.frequent = append(r.frequent, word(k))
	}
	r.row = func(n int) row {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		any := rand.NewZipf(random, zipfShape, zipfFlatten, zipfWords-1)
		ranks := make([]uint64, 0, zipfLength)
		for len(ranks) < zipfLength {
			if k := any.Uint64(); !slices.Contains(ranks, k) {
				ranks = append(ranks, k)
			}
		}
		words := make([]string, zipfLength)
		for i, k := range ranks {
			words[i] = word(k)
		}
		out := row{text: strings.Join(words, " ")}
		slices.Sort(ranks)
		out.common = word(ranks[0])
		for i := range zipfAsked {
			out.words = append(out.words, word(ranks[zipfLength-1-i]))
		}
		return out
	}
	return r
}

// Named returns the rows with a name: s or z.
func Named(name string, seed uint64) (Rows, error) {
	switch name {
	case "s":
		return Synthetic(seed), nil
	case "z":
		return Zipf(seed), nil
	}
	return Rows{}, fmt.Errorf("unknown vocabulary %q: use s or z", name)
}
