package guard

import (
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// folded is text in the form in which rules are written: compatibility forms
// resolved, accents and invisible characters gone, look-alike letters of other
// scripts turned into Latin ones, traditional characters into simplified ones, lower case, each run of white space a
// single blank or line feed. It begins and ends with a line feed, so a rule can say
// "at the start of a line".
type folded struct {
	text   string
	starts []int // offset in text where each line after the first begins
}

// fold is linear in raw. It decomposes (NFKD) rather than composes, since
// accents are dropped anyway.
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
		case b.Len() == 1: // white space at the very beginning
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

// lineStart is where the line feed of a new line will be written. Nothing is
// written for those before the first character.
func lineStart(written int) int {
	if written == 1 {
		return 0
	}
	return written
}

// line is the number of the line, from 1, that offset belongs to. A match that
// begins with white space belongs to the line of its first letter.
func (f folded) line(offset int) int {
	for offset < len(f.text) && (f.text[offset] == '\n' || f.text[offset] == ' ') {
		offset++
	}
	return 1 + sort.Search(len(f.starts), func(i int) bool { return f.starts[i] >= offset })
}

// lookalikes maps letters to the Latin letter that they are drawn like. Upper
// and lower case differ: Cyrillic Н looks like H, but н does not look like h.
// After the confusables of Unicode UTS #39, reduced to letters met in attacks.
var lookalikes = pairs(
	// Cyrillic
	"АAВBЕEЅSІIЈJКKМMНHОOРPСCТTУYХXԌGԚQԜWаaвbгrеeѕsіiјjкkӏlмmоoрpсcтtуyхxһhԁdԛqԝwѵvьbԍgпn",
	// Greek
	"ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXαaβbγyεeηnιiκkνvοoρpτtυuχxωwσoϲcϳj",
	// Armenian, IPA and small capitals
	"օoսuոnհhցgյjɡgɑaıiɩiʀrɴnʟlᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkᴍmᴏoᴘpꜱsᴛtᴜuᴠvᴡwʏyᴢzłløođd",
)

// simplified maps the traditional characters of the rules' words, which are
// written in simplified ones.
var simplified = pairs(
	"請请無无視视執执後后刪删紀纪錄录訴诉這这個个進进開开發发現现設设規规則则統统詞词號号碼码對对話话傳传給给會会審审絕绝聽听須须務务實实",
	"戶户輸输讀读寫写鑰钥憑凭證证環环變变遠远據据並并復复洩泄檔档權权許许動动運运載载隱隐瞞瞒還还擊击檢检啟启數数庫库單单經经問问員员過过",
	"時时間间認认確确蓋盖優优級级於于帳账備备從从當当說说內内蹤踪處处繞绕違违約约關关閉闭點点擁拥將将來来轉转郵邮銀银業业資资訊讯簡简應应",
	"棄弃終终條条項项連连殼壳層层類类電电腦脑軟软體体網网頁页絡络鏈链導导師师議议論论語语誰谁謊谎護护讓让貼贴賬账",
)

// pairs reads strings of a letter followed by what it looks like.
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
