package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/testkit"
)

// endless is a PDF file whose page tree contains itself: a parser looks for its pages for ever.
func endless() []byte {
	out := "%PDF-1.4\n"
	var at [2]int
	for i, body := range []string{"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [2 0 R] /Count 1000000000 >>"} {
		at[i] = len(out)
		out += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, body)
	}
	return []byte(out + fmt.Sprintf("xref\n0 3\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \ntrailer\n"+
		"<< /Size 3 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", at[0], at[1], len(out)))
}

// A file that a parser never finishes delays neither other chats nor its own for long.
func TestAnEndlessFileOfAChatIsGivenUp(t *testing.T) {
	t.Parallel()
	c := openChats(t)
	c.pair(7, "Ada")
	c.pair(8, "Ben")
	c.telegram.SayWith(channeltest.UserMessage{User: "7", Name: "Ada", Text: "Read this"}, endless())
	c.say(8, "Ben", "Are you there?")
	if got := c.last("8", 2).Text; !strings.Contains(got, "Are you there?") {
		t.Errorf("the other chat gets %q", got)
	}
	testkit.Eventually(t, "the file is given up", func() bool {
		return len(c.chat("7")) >= 2
	})
	if got := c.last("7", 2).Text; !strings.Contains(got, "You said") {
		t.Errorf("the reply is %q", got)
	}
	if got := c.lastRequest(); !strings.Contains(got, "Read this") || !strings.Contains(got, ": not read]") {
		t.Errorf("the model got %s", got)
	}
	c.say(7, "Ada", "And now?")
	if got := c.last("7", 3).Text; !strings.Contains(got, "And now?") {
		t.Errorf("the next reply is %q", got)
	}
}
