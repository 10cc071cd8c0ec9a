package skill_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

func TestPatchRefusesWhatCannotBeAPatch(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		code     fault.Code
	}{
		"empty":        {"", "x", fault.InvalidArgument},
		"blank":        {" \n\t", "x", fault.InvalidArgument},
		"same":         {"Build", "Build", fault.InvalidArgument},
		"broken UTF-8": {"Build\xe2\x80", "x", fault.InvalidArgument},
		"long old":     {strings.Repeat("好", skill.MaxPatch+1), "x", fault.TooLarge},
		"long new":     {"Build", strings.Repeat("x", skill.MaxPatch+1), fault.TooLarge},
	} {
		_, err := skill.Patch("Build it.", c.old, c.new, false)
		if fault.CodeOf(err) != c.code || fault.From(err).Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := skill.Patch(strings.Repeat("a", 10_000), "a", strings.Repeat("b", 10_000), true)
	if f := fault.From(err); f == nil || f.Code != fault.TooLarge || f.Extra["size"] != 100_000_000 ||
		f.Extra["limit"] != skill.MaxContentBytes {
		t.Errorf("a result that outgrows the limit: %v", err)
	}
}

func TestPatchClimbsTheLadder(t *testing.T) {
	for name, c := range map[string]struct {
		content, old, new, want string
		strategy                skill.Strategy
		lines                   []int
	}{
		"exact":             {"a\nb\nc\n", "b", "x", "a\nx\nc\n", skill.Exact, []int{2}},
		"exact comes first": {"b\nb \n", "b ", "x", "b\nx\n", skill.Exact, []int{2}},
		"several lines":     {"a\nb\nc\n", "b", "x\ny\nz", "a\nx\ny\nz\nc\n", skill.Exact, []int{2, 3, 4}},
		"deletion":          {"a\nb\nc\n", "b\n", "", "a\nc\n", skill.Exact, []int{2}},
		"LF finds CRLF": {"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n", skill.Newline,
			[]int{1, 2}},
		"CRLF finds LF":               {"a\nb\nc", "a\r\nb", "x\r\ny", "x\r\ny\nc", skill.Newline, []int{1, 2}},
		"exact CRLF converts the new": {"a\r\nb\r\nc", "a\r\nb", "x\ny", "x\r\ny\r\nc", skill.Exact, []int{1, 2}},
		"no CRLF in the region":       {"a\r\nb\r\n", "b", "x\ny", "a\r\nx\ny\r\n", skill.Exact, []int{2, 3}},
		"the CR before a leading LF":  {"a\r\nb", "\nb", "\nx", "a\r\nx", skill.Newline, []int{1, 2}},
		"a CRLF is not cut":           {"a\r\nb", "a\r", "x", "x\r\nb", skill.TrailingSpace, []int{1}},
		"a CR alone is text":          {"a\rb\n", "\rb", "x", "ax\n", skill.Exact, []int{1}},
		"trailing space of the text":  {"a  \nb\t\nc\n", "a\nb\nc", "x", "x\n", skill.TrailingSpace, []int{1}},
		"trailing space of the old":   {"a\nb\nc\n", "a \nb  ", "x", "x\nc\n", skill.TrailingSpace, []int{1}},
		"trailing space stays after":  {"a  \nb  \nc\n", "a\nb", "x", "x  \nc\n", skill.TrailingSpace, []int{1}},
		"CRLF and trailing space": {"a \r\nb\r\nc", "a\nb", "x\ny", "x\r\ny\r\nc", skill.TrailingSpace,
			[]int{1, 2}},
		"the file's own indent": {"1. a\n    b\n    c\nd", "  b\n  c", "  x\n    y", "1. a\n    x\n    y\nd",
			skill.LineTrim, []int{2, 3}},
		"tabs for blanks": {"\tif x {\n\t\ty\n\t}\n", "    if x {\n        y\n    }", "    z", "\tz\n",
			skill.LineTrim, []int{1}},
		"collapsed blanks": {"a  b\tc d", "b c", "x", "a  x d", skill.SpaceAndPunct, []int{1}},
		"folded marks": {"Say “no” – it’s over…\n", `Say "no" - it's over...`, "Stop.", "Stop.\n",
			skill.SpaceAndPunct, []int{1}},
		"marks of the old": {`Say "no" - 5 - 3.`, "“no” — 5 − 3", `"yes"`, `Say "yes".`,
			skill.SpaceAndPunct, []int{1}},
		"a whole ellipsis":             {"wait…now", "wait...", "go ", "go now", skill.SpaceAndPunct, []int{1}},
		"next to an ellipsis":          {"“a” …“b”", `"b"`, "c", "“a” …c", skill.SpaceAndPunct, []int{1}},
		"leading blanks of the new":    {"x\n  “a”\n", `"a"`, " \tb", "x\n  b\n", skill.SpaceAndPunct, []int{2}},
		"Chinese":                      {"先构建\n再部署\n", "再部署", "再测试", "先构建\n再测试\n", skill.Exact, []int{2}},
		"ideographic space":            {"先　构建", "先 构建", "先测试", "先测试", skill.SpaceAndPunct, []int{1}},
		"a folded text next to NUL":    {"\x00a b", "a  b", "c", "\x00c", skill.SpaceAndPunct, []int{1}},
		"broken bytes outside survive": {"\xff a  b \xfe", "a b", "c", "\xff c \xfe", skill.SpaceAndPunct, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := skill.Patch(c.content, c.old, c.new, false)
			want := skill.PatchResult{Content: c.want, Replacements: 1, Strategy: c.strategy, Lines: c.lines}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestPatchReplacesAllOnlyWhatIsExact(t *testing.T) {
	for name, c := range map[string]struct {
		content, old, want string
		strategy           skill.Strategy
		replacements       int
	}{
		"exact":    {"a b a\na", "a", "xy b xy\nxy", skill.Exact, 3},
		"newline":  {"a\r\nb\r\na\r\nb\r\n", "a\nb\n", "xyxy", skill.Newline, 2},
		"overlaps": {"aaaaa", "aa", "xyxya", skill.Exact, 2},
		"one":      {"a", "a", "xy", skill.Exact, 1},
	} {
		got, err := skill.Patch(c.content, c.old, "xy", true)
		if err != nil || got.Content != c.want || got.Strategy != c.strategy || got.Replacements != c.replacements {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if got, err := skill.Patch("a\nb a\na", "a", "x", true); err != nil || !slices.Equal(got.Lines, []int{1, 2, 3}) {
		t.Errorf("lines %v, %v", got.Lines, err)
	}
	for old, content := range map[string]string{"a\nb": "a \nb\na \nb\n", "  a\n  b": " a\n b\n a\n b\n",
		`"a" b`: "“a” b\n“a” b\n"} {
		_, err := skill.Patch(content, old, "x", true)
		if f := fault.From(err); f == nil || f.Code != fault.AmbiguousMatch || f.Extra["count"] != 2 ||
			!strings.Contains(f.Hint, "exactly") {
			t.Errorf("%q for %q: got %v", content, old, err)
		}
	}
}

func TestPatchTellsWhereAnAmbiguousTextStands(t *testing.T) {
	long := strings.Repeat("前", 200) + "retry" + strings.Repeat("后", 200)
	_, err := skill.Patch("one\n  retry now\n"+long+"\nretry retry\nretry\nretry\n", "retry", "x", false)
	f := fault.From(err)
	if f == nil || f.Code != fault.AmbiguousMatch || f.Extra["count"] != 6 {
		t.Fatalf("got %v %+v", err, f)
	}
	matches := f.Extra["matches"].([]skill.Excerpt)
	want := []skill.Excerpt{{2, "retry now"}, {3, strings.Repeat("前", 30) + "retry" + strings.Repeat("后", 45)},
		{4, "retry retry"}, {4, "retry retry"}, {5, "retry"}}
	if !reflect.DeepEqual(matches, want) {
		t.Errorf("got %+v", matches)
	}
	if _, err := skill.Patch("aaa", "aa", "b", false); fault.CodeOf(err) != fault.AmbiguousMatch {
		t.Errorf("overlapping places are two: %v", err)
	}
	if _, err := skill.Patch("a  b\na \tb\n", "a b", "c", false); fault.CodeOf(err) != fault.AmbiguousMatch {
		t.Errorf("two folded places: %v", err)
	}
}

func TestPatchNeverTakesHalfOfSomething(t *testing.T) {
	for name, c := range map[string]struct{ content, old string }{
		"half an ellipsis at the end":     {"wait… now", "wait."},
		"half an ellipsis at the start":   {"wait…now", ".now"},
		"two thirds":                      {"wait…", "wait.."},
		"a word that was quoted to a gap": {"stepping", "step "},
		"a gap before the word":           {"misstep", " step"},
	} {
		if got, err := skill.Patch(c.content, c.old, "something", false); fault.CodeOf(err) != fault.NoMatch {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestPatchSaysWhatComesClosest(t *testing.T) {
	content := "## Procedure\n1. Build the image\n2. Push the image to the registry\n3. Roll out\n" +
		strings.Repeat("Unrelated words. ", 100)
	_, err := skill.Patch(content, "Push the imagse to registry", "x", false)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.NoMatch {
		t.Fatalf("got %v", err)
	}
	closest := f.Extra["closest"].([]skill.Excerpt)
	if len(closest) == 0 || len(closest) > 3 ||
		closest[0] != (skill.Excerpt{Line: 3, Text: "2. Push the image to the registry"}) {
		t.Errorf("closest %+v", closest)
	}
	preview := f.Extra["preview"].(string)
	if utf8.RuneCountInString(preview) != 500 || !strings.HasPrefix(preview, "2. Push") {
		t.Errorf("preview of %d runes: %q", utf8.RuneCountInString(preview), preview)
	}
	_, err = skill.Patch("短文", "xyz", "x", false)
	if f := fault.From(err); len(f.Extra["closest"].([]skill.Excerpt)) != 0 || f.Extra["preview"] != "短文" {
		t.Errorf("nothing is close: %+v", f.Extra)
	}
}

func TestPatchNamesSerialisationDrift(t *testing.T) {
	content := "run \"make\"\n\tthen 'test'\n"
	for _, old := range []string{`run \"make\"`, `make\"\n\tthen`, `then \'test\'`} {
		got, err := skill.Patch(content, old, "run make all", false)
		if f := fault.From(err); f == nil || f.Code != fault.NoMatch ||
			!strings.Contains(f.Hint, "without backslash escapes") || got.Content != "" {
			t.Errorf("%s: got %+v, %v", old, got, err)
		}
	}
	if _, err := skill.Patch(content, `run \"cmake\"`, "x", false); strings.Contains(fault.From(err).Hint,
		"backslash") {
		t.Error("blamed the escapes of a text that is not there without them either")
	}
	if got, err := skill.Patch(`echo \"a\"`, `\"a\"`, "b", false); err != nil || got.Content != "echo b" {
		t.Errorf("escapes that are in the text: %+v, %v", got, err)
	}
}

func TestPatchTakesAnAppliedEditForDone(t *testing.T) {
	for name, c := range map[string]struct {
		content, old, new string
		noop              bool
	}{
		"applied":             {"a\nPush the image\n", "Pull the image", "Push the image", true},
		"applied with CRLF":   {"Push\r\nthe image\r\n", "Pull\nthe image", "Push\nthe image", true},
		"seven visible runes": {"a b c d e f g", "zz", "a b c d e f g", false},
		"eight visible runes": {"a b c d e f g h", "zz", "a b c d e f g h", true},
		"deletion":            {"a", "zz", "", false},
		"not applied":         {"a", "zz", "Push the image", false},
	} {
		got, err := skill.Patch(c.content, c.old, c.new, false)
		if c.noop && (err != nil || !reflect.DeepEqual(got, skill.PatchResult{Content: c.content, Noop: true})) ||
			!c.noop && fault.CodeOf(err) != fault.NoMatch {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	got, err := skill.Patch("say a b", "say  a b", "say a b", false)
	if want := (skill.PatchResult{Content: "say a b", Strategy: skill.SpaceAndPunct, Noop: true}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("a folded hit that changes nothing: %+v, %v", got, err)
	}
}

// FuzzPatch uses a slice of the content as the old text. If it occurs once, exactly that region is
// replaced. In every case, the text around the region stays.
func FuzzPatch(f *testing.F) {
	f.Add("a\r\n  b…“c”\r\nd", "x\ny", 1, 6, false, "b...")
	f.Add("aaa", "b", 0, 2, true, " aa")
	f.Add("1. a\n\tb  \n", "", 3, 4, false, "    b\n")
	f.Fuzz(func(t *testing.T, content, new string, from, length int, all bool, other string) {
		if !utf8.ValidString(content) || !utf8.ValidString(new) || len(content) > 1<<14 || len(new) > 1<<12 {
			return
		}
		if old, start := slice(content, from, length); strings.TrimSpace(old) != "" && old != new &&
			countOverlapping(content, old) == 1 {
			got, err := skill.Patch(content, old, new, all)
			if err != nil {
				t.Fatalf("%q in %q: %v", old, content, err)
			}
			if strings.Contains(old, "\r\n") {
				new = strings.ReplaceAll(strings.ReplaceAll(new, "\r\n", "\n"), "\n", "\r\n")
			}
			if want := content[:start] + new + content[start+len(old):]; got.Content != want ||
				got.Strategy != skill.Exact {
				t.Fatalf("%q for %q in %q: got %+v, want %q", new, old, content, got, want)
			}
		}
		got, err := skill.Patch(content, other, new, false)
		if err != nil {
			if fault.From(err).Hint == "" || got.Content != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			return
		}
		surrounded(t, content, other, new, got)
	})
}

// surrounded checks that a result is a beginning and an end of the content with the new text
// between them, and that the region equals the old text except for blanks and marks.
func surrounded(t *testing.T, content, old, new string, got skill.PatchResult) {
	t.Helper()
	if got.Noop {
		if got.Content != content {
			t.Fatalf("a no-op changed %q to %q", content, got.Content)
		}
		return
	}
	unified := strings.ReplaceAll(strings.ReplaceAll(new, "\r\n", "\n"), "\n", "\r\n")
	for _, put := range []string{new, unified, strings.TrimLeft(new, " \t"), strings.TrimLeft(unified, " \t")} {
		for start := 0; start+len(put) <= len(got.Content); start++ {
			end := len(content) - (len(got.Content) - start - len(put))
			if end < start || start > len(content) || content[:start]+put+content[end:] != got.Content {
				continue
			}
			if essence(content[start:end]) == essence(old) {
				return
			}
		}
	}
	t.Fatalf("%q for %q in %q gave %q (%s)", new, old, content, got.Content, got.Strategy)
}

var sameMarks = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "–", "-", "—", "-", "−", "-", "…", "...")

func essence(text string) string {
	return strings.Join(strings.Fields(sameMarks.Replace(text)), "")
}

// slice returns a part of text at the boundaries of runes and line breaks.
func slice(text string, from, length int) (part string, start int) {
	runes := []rune(text)
	from = min(max(0, from), len(runes))
	end := min(from+max(0, min(length, len(runes))), len(runes))
	part, start = string(runes[from:end]), len(string(runes[:from]))
	if strings.HasPrefix(part, "\n") && strings.HasSuffix(text[:start], "\r") {
		part, start = "\r"+part, start-1
	}
	if strings.HasSuffix(part, "\r") && strings.HasPrefix(text[start+len(part):], "\n") {
		part += "\n"
	}
	return part, start
}

func countOverlapping(text, part string) int {
	count := 0
	for at := range text {
		if strings.HasPrefix(text[at:], part) {
			count++
		}
	}
	return count
}
