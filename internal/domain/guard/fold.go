package guard

import (
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// folded is text in the form that rules match: compatibility forms are resolved, accents and
// invisible characters removed, and look-alike letters of other scripts replaced by Latin ones.
// Traditional Chinese characters are replaced by simplified ones, letters are lower case, and each
// run of white space is one blank or line feed. It starts and ends with a line feed, so that a rule
// can match the start of a line.
type folded struct {
	text   string
	starts []int // offset in text of the start of each line after the first
}

// fold is linear in raw. It decomposes (NFKD) rather than composes, because accents are removed.
func fold(raw string) folded {
	var b strings.Builder
	b.Grow(len(raw) + 2)
	b.WriteByte('\n')
	var starts []int
	blank, feed := false, false
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(raw, "\uFFFD")) {
		switch {
		case r == '\n':
			feed = true
			starts = append(starts, lineStart(b.Len()))
			continue
		case unicode.IsSpace(r):
			blank = true
			continue
		case unicode.Is(unicode.Mn, r) || ignorable(r):
			continue
		}
		switch {
		case b.Len() == 1: // white space at the start of the text
		case feed:
			b.WriteByte('\n')
		case blank:
			b.WriteByte(' ')
		}
		blank, feed = false, false
		if latin, known := lookalikes[r]; known {
			r = latin
		} else if known := simplified[r]; known != 0 {
			r = known
		}
		b.WriteRune(unicode.ToLower(r))
	}
	b.WriteByte('\n')
	return folded{b.String(), starts}
}

// lineStart returns the position of the line feed of a new line. Line feeds before the first
// character are not written.
func lineStart(written int) int {
	if written == 1 {
		return 0
	}
	return written
}

// line returns the number of the line, from 1, of an offset. A match that starts with white space
// belongs to the line of its first letter.
func (f folded) line(offset int) int {
	for offset < len(f.text) && (f.text[offset] == '\n' || f.text[offset] == ' ') {
		offset++
	}
	return 1 + sort.Search(len(f.starts), func(i int) bool { return f.starts[i] >= offset })
}

// lookalikes maps letters to the Latin letter that they resemble. Upper and lower case differ:
// Cyrillic Н resembles H, but н does not resemble h. The source is the list of confusables of
// Unicode UTS #39, reduced to letters in known attacks.
var lookalikes = pairs(
	// Cyrillic
	"АAВBЕEЅSІIЈJКKМMНHОOРPСCТTУYХXԌGԚQԜWаaвbгrеeѕsіiјjкkӏlмmоoрpсcтtуyхxһhԁdԛqԝwѵvьbԍgпn",
	// Greek
	"ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXαaβbγyεeηnιiκkνvοoρpτtυuχxωwσoϲcϳj",
	// Armenian, IPA and small capitals
	"օoսuոnհhցgյjɡgɑaıiɩiʀrɴnʟlᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkᴍmᴏoᴘpꜱsᴛtᴜuᴠvᴡwʏyᴢzłløođd",
)

// simplified maps the traditional characters of the words in rules to simplified ones, which the
// rules use.
var simplified = pairs(
	"請请無无視视執执後后刪删紀纪錄录訴诉這这個个進进開开發发現现設设規规則则統统詞词號号碼码對对話话傳传給给會会審审絕绝聽听須须務务實实",
	"戶户輸输讀读寫写鑰钥憑凭證证環环變变遠远據据並并復复洩泄檔档權权許许動动運运載载隱隐瞞瞒還还擊击檢检啟启數数庫库單单經经問问員员過过",
	"時时間间認认確确蓋盖優优級级於于帳账備备從从當当說说內内蹤踪處处繞绕違违約约關关閉闭點点擁拥將将來来轉转郵邮銀银業业資资訊讯簡简應应",
	"棄弃終终條条項项連连殼壳層层類类電电腦脑軟软體体網网頁页絡络鏈链導导師师議议論论語语誰谁謊谎護护讓让貼贴賬账",
)

// pairs parses strings of letters, each followed by the letter that it maps to.
func pairs(lists ...string) map[rune]rune {
	table := map[rune]rune{}
	for _, list := range lists {
		letters := []rune(list)
		for i := 0; i+1 < len(letters); i += 2 {
			table[letters[i]] = letters[i+1]
		}
	}
	return table
}
