package guard

import (
	"fmt"
	"os"
	"testing"
)

func TestZZ(t *testing.T) {
	text := os.Getenv("T")
	if text == "" {
		t.Skip()
	}
	l := wordLists()
	f := fold(text)
	for _, h := range l.hitsIn(f.text, false) {
		names := ""
		for g, b := range l.groups {
			if h.groups.meets(b) {
				names += g + " "
			}
		}
		fmt.Printf("%q %d-%d %s\n", f.text[h.start:h.end], h.first, h.last, names)
	}
	fmt.Println(Scan(text, Strict))
}
