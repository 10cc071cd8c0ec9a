package guard

import (
	"strings"
	"sync"
)

// leastSeedWords is the length of the shortest seed phrase of BIP-39.
const leastSeedWords = 12

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
	finish := func() {
		if count >= leastSeedWords {
			found = append(found, window{start, end})
		}
		count = 0
	}
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case letter(b):
			from := i
			for i < len(text) && letter(text[i]) {
				i++
			}
			if i-from > 8 || !known[strings.ToLower(text[from:i])] {
				finish()
				continue
			}
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
