package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// PatchResult is the result of a patch.
type PatchResult struct {
	Content      string
	Replacements int      // 0 if nothing changed
	Strategy     Strategy // how the old text was found; empty without a search
	Lines        []int    // lines of Content, from 1, with new or removed text
	Noop         bool     // Content is unchanged: the patch was applied earlier, or has no effect
}

// Patch replaces old with new in content. It compares texts in
// increasingly loose forms, and uses the first with a match. Text that is only similar is never
// changed. Outside the replaced region every byte stays.
//
// Without replaceAll, the old text must occur once, including overlaps. Errors are *fault.Error:
// InvalidArgument and TooLarge for the arguments, NoMatch with `closest` ([]Excerpt) and `preview`,
// AmbiguousMatch with `count` and `matches` ([]Excerpt).
func Patch(content, old, new string, replaceAll bool) (PatchResult, error) {
	if err := checkPatch(old, new); err != nil {
		return PatchResult{}, err
	}
	for _, strategy := range strategies {
		text := foldText(content, strategy)
		hits := text.find(foldText(old, strategy))
		if len(hits) == 0 {
			continue
		}
		if len(hits) > 1 && (!replaceAll || !strategy.literal()) {
			return PatchResult{}, ambiguous(content, hits, strategy, replaceAll)
		}
		return replace(content, hits, new, strategy)
	}
	if occurs(content, unescaped(old), strategies) {
		return PatchResult{}, noMatch(content, old,
			"send the text again without backslash escapes; it occurs without them")
	}
	if visibleRunes(new) >= minApplied && occurs(content, new, strategies[:2]) {
		return PatchResult{Content: content, Noop: true}, nil
	}
	return PatchResult{}, noMatch(content, old,
		"quote one of the closest lines exactly, or view the current text first")
}

// minApplied is the minimum number of visible runes of a new text whose presence shows that the
// patch was applied.
const minApplied = 8

func checkPatch(old, new string) error {
	switch {
	case strings.TrimSpace(old) == "":
		return fault.New(fault.InvalidArgument, "old_string is blank", "quote the text to replace")
	case old == new:
		return fault.New(fault.InvalidArgument, "old_string and new_string are the same",
			"send the changed text in new_string")
	case !utf8.ValidString(old) || !utf8.ValidString(new):
		return fault.New(fault.InvalidArgument, "old_string or new_string is not valid UTF-8", "send UTF-8 text")
	}
	for _, text := range []string{old, new} {
		if n := utf8.RuneCountInString(text); n > MaxPatch {
			return oversized(
				fmt.Sprintf("old_string or new_string has %d characters, at most %d are allowed", n, MaxPatch),
				"split the change into several patches",
				n,
				MaxPatch,
			)
		}
	}
	return nil
}

func oversized(message, hint string, size, limit int) error {
	return fault.New(fault.TooLarge, message, hint).With("size", size).With("limit", limit)
}

// replace replaces every hit that does not overlap the previous one.
func replace(content string, hits []span, new string, strategy Strategy) (PatchResult, error) {
	hits = withoutOverlaps(hits)
	if strategy.indented() {
		new = strings.TrimLeft(new, " \t") // the indent of the file precedes the region
	}
	size := len(content)
	texts := make([]string, len(hits))
	for i, hit := range hits {
		texts[i] = new
		if strings.Contains(content[hit.start:hit.end], "\r\n") {
			texts[i] = strings.ReplaceAll(strings.ReplaceAll(new, "\r\n", "\n"), "\n", "\r\n")
		}
		size += len(texts[i]) - (hit.end - hit.start)
	}
	if size > max(MaxContentBytes, len(content)) {
		return PatchResult{}, oversized(fmt.Sprintf("the result would have %d bytes, at most %d are allowed", size,
			MaxContentBytes), "replace fewer places, or by less", size, MaxContentBytes)
	}
	var b strings.Builder
	b.Grow(size)
	var lines []int
	line, at := 1, 0
	for i, hit := range hits {
		kept := content[at:hit.start]
		b.WriteString(kept)
		b.WriteString(texts[i])
		line += strings.Count(kept, "\n")
		for n := range 1 + strings.Count(strings.TrimSuffix(texts[i], "\n"), "\n") {
			lines = append(lines, line+n)
		}
		line += strings.Count(texts[i], "\n")
		at = hit.end
	}
	b.WriteString(content[at:])
	if b.String() == content {
		return PatchResult{Content: content, Strategy: strategy, Noop: true}, nil
	}
	return PatchResult{Content: b.String(), Replacements: len(hits), Strategy: strategy, Lines: slices.Compact(lines)},
		nil
}

// withoutOverlaps removes hits that overlap the previous one.
func withoutOverlaps(hits []span) []span {
	var kept []span
	for _, hit := range hits {
		if len(kept) == 0 || hit.start >= kept[len(kept)-1].end {
			kept = append(kept, hit)
		}
	}
	return kept
}

func occurs(content, wanted string, strategies []Strategy) bool {
	return strings.TrimSpace(wanted) != "" && slices.ContainsFunc(strategies, func(s Strategy) bool {
		return len(foldText(content, s).find(foldText(wanted, s))) > 0
	})
}

var escapes = strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\n`, "\n", `\t`, "\t")

// unescaped returns text without JSON string escapes, and an empty text if there are none.
func unescaped(text string) string {
	if plain := escapes.Replace(text); plain != text {
		return plain
	}
	return ""
}

func visibleRunes(text string) int {
	return utf8.RuneCountInString(strings.Join(strings.Fields(text), ""))
}
