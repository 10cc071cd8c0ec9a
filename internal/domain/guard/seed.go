package guard

import (
	"strings"
	"sync"
)

const (
	minSeedWords = 12 // of the shortest seed phrase of BIP-39
	minDistinct  = 9  // of random words; a list such as "wish number 1, wish number 2" has fewer
)

var seedWords = sync.OnceValue(func() map[string]bool {
	var file struct {
		Words string `yaml:"words"`
	}
	readPatterns("patterns/seedwords.yaml", &file)
	words := map[string]bool{}
	for _, word := range strings.Fields(file.Words) {
		words[word] = true
	}
	return words
})

// seedPhrases finds the words of a wallet: twelve or more words of the list of BIP-39 in a row, with
// blanks, commas or numbers between them. Sentences have other words.
func seedPhrases(text string) []window {
	known := seedWords()
	var found []window
	count, start, end := 0, 0, 0
	distinct := map[string]bool{}
	finish := func() {
		if count >= minSeedWords && len(distinct) >= minDistinct {
			found = append(found, window{start, end})
		}
		count = 0
		clear(distinct)
	}
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case letter(b):
			from := i
			for i < len(text) && letter(text[i]) {
				i++
			}
			word := strings.ToLower(text[from:i])
			if !known[word] {
				finish()
				continue
			}
			distinct[word] = true
			if count++; count == 1 {
				start = from
			}
			end = i
		case digit(b), strings.IndexByte(" \n\r\t,.)-:;\"'[]|`*", b) >= 0:
			i++
		default:
			finish()
			i++
		}
	}
	finish()
	return found
}
