package lexical_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/lexical"
)

func TestWordsOfLanguagesAndIdentifiers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"The plans were planned; planning stories": {"plan", "plan", "plan", "stori"},
		"make making makes":                        {"mak", "mak", "mak"},
		"bus class analysis king spring need red add": {"bus", "class", "analysis", "king", "spring", "need", "red",
			"add"},
		"Jon's idea isn’t O'Brien's": {"jon", "idea", "o'brien", "o", "brien"},
		"get_user_details":           {"get_user_details", "get", "user", "detail"},
		"getUserDetails":             {"getuserdetail", "get", "user", "detail"},
		"r41 a-b":                    {"r41", "r", "41", "a-b", "b"},
		"v1.2 at 10:30, jo@x.org.": {"v1.2", "v", "1", "2", "10:30", "10", "30", "jo@x.org", "jo",
			"x", "org"},
		"Straße STRASSE ﬁne": {"strass", "strass", "fin"},
		"ｆｕｌｌ　ｗｉｄｔｈ":         {"full", "width"},
		"我们的目的地是北京":          {"的目", "目的", "是北", "北京"},
		"猫 的 退款":             {"猫", "退款"},
		"用kubectl部署r41":      {"用", "kubectl", "部署", "r41", "r", "41"},
		"café naïve":         {"café", "naïve"},
		"the of and 的 了":     nil,
		"":                   nil,
		"… — 🎉 __ '":         nil,
		// too long as a whole; "a" is a stop-word
		strings.Repeat("a1", 40): slices.Repeat([]string{"1"}, 40),
		"broken \xff\xfe bytes":  {"broken", "byt"},
	} {
		if got := lexical.Words(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestTermsAreCountedAndSorted(t *testing.T) {
	t.Parallel()
	terms := lexical.Terms("rollback release rollback r41 北京 rollbacks")
	if !slices.IsSortedFunc(terms, func(a, b lexical.Term) int { return int(int64(a.Hash) - int64(b.Hash)) }) {
		t.Errorf("not in order of hash: %v", terms)
	}
	got := map[int32]int{}
	for _, term := range terms {
		got[term.Hash] = term.TF
	}
	if got[lexical.Hash("rollback")] != 3 || got[lexical.Hash("r41")] != 1 || got[lexical.Hash("北京")] != 1 ||
		len(got) != len(terms) {
		t.Errorf("got %v", got)
	}
	if length := lexical.Length(terms); length != 8 { // release, 3 rollback, r41 r 41, 北京
		t.Errorf("length %d, want 8", length)
	}
	if hash := lexical.Hash("a"); hash != 826002220 { // FNV-1a 32 of "a" is 0xE40C292C = 3826002220
		t.Errorf("hash %d", hash)
	}
	if terms := lexical.Terms("of the"); len(terms) != 0 {
		t.Errorf("stop-words gave %v", terms)
	}
}

func TestADocumentIsFoundByHowUsersWriteIt(t *testing.T) {
	t.Parallel()
	document := lexical.Terms("Deployed getUserDetails to 北京机房; Caroline's adoption interviews went well.")
	for _, query := range []string{"user details", "GETUSERDETAILS", "北京", "caroline", "Carolines", "interviewing",
		"adoption?", "deploy"} {
		hits := 0
		for _, term := range lexical.Terms(query) {
			if slices.ContainsFunc(document, func(d lexical.Term) bool { return d.Hash == term.Hash }) {
				hits++
			}
		}
		if hits == 0 {
			t.Errorf("%q finds nothing", query)
		}
	}
	for _, query := range []string{"上海", "weather forecast", "the"} {
		for _, term := range lexical.Terms(query) {
			if slices.ContainsFunc(document, func(d lexical.Term) bool { return d.Hash == term.Hash }) {
				t.Errorf("%q finds an unrelated document", query)
			}
		}
	}
}

func TestWeightIsBM25WithAFixedPivot(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tf, length int
		want       float64
	}{
		{1, lexical.Pivot, 1},
		{2, lexical.Pivot, 4.4 / 3.2},
		{1, 3 * lexical.Pivot, 2.2 / (1 + 1.2*2.5)},
		{1, 0, 2.2 / 1.3},
		{0, 10, 0}, {-1, 10, 0},
	} {
		if got := float64(lexical.Weight(test.tf, test.length)); math.Abs(got-test.want) > 1e-6 {
			t.Errorf("tf %d, length %d: got %f, want %f", test.tf, test.length, got, test.want)
		}
	}
	if lexical.Weight(1_000_000, 1) >= 2.2+1e-4 {
		t.Error("a weight exceeds its bound")
	}
}

func FuzzTerms(f *testing.F) {
	f.Add("get_user_details 北京 r41 Jon's")
	f.Add("\xff_-'\u0301'")
	f.Fuzz(func(t *testing.T, text string) {
		terms := lexical.Terms(text)
		for i, term := range terms {
			if term.TF < 1 || (i > 0 && terms[i-1].Hash >= term.Hash) {
				t.Fatalf("term %d of %v", i, terms)
			}
		}
		if got := lexical.Length(terms); got != len(lexical.Words(text)) {
			t.Fatalf("length %d, words %q", got, lexical.Words(text))
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat("Caroline deployed getUserDetails to 北京机房 and the adoption interviews went well. ", 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		lexical.Terms(text)
	}
}
