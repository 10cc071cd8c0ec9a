package designer_test

import (
	"testing"

	"cairn/internal/domain/memoryskill/designer"
)

func TestCorrectionsAreHeardAndRefusalsAreNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said, answer, right string
		found               bool
	}{
		{"No, it's Bergen.", "Vera lives in Oslo.", "Bergen", true},
		{"No, it's Bergen, not Oslo.", "Vera lives in Oslo. Anything else?", "Bergen", true},
		{"That's wrong. It is the 4th of May!", "On the 3rd.", "the 4th of May", true},
		{"that is not correct", "On the 3rd.", "", true},
		{"Actually, my sister lives there.", "Your brother lives there.", "my sister lives there", true},
		{"Not quite, I meant the blue one", "Here is the red one.", "the blue one", true},
		{"You're wrong, not Oslo but Bergen", "Oslo.", "Bergen", true},
		{"no — she moved to Bergen in May. Remember that.", "She lives in Oslo.", "she moved to Bergen in May", true},
		{"不对，应该是卑尔根。", "她住在奥斯陆。", "卑尔根", true},
		{"不是奥斯陆，是卑尔根。", "她住在奥斯陆。", "卑尔根", true},
		{"你记错了，她住在卑尔根", "她住在奥斯陆。", "她住在卑尔根", true},
		{"不，是卑尔根，不是奥斯陆", "她住在奥斯陆。", "卑尔根", true},

		{"No, thanks.", "Shall I book it?", "", false},
		{"No, it's fine.", "Shall I book it?", "", false},
		{"No, that's all.", "Anything else?", "", false},
		{"No, my sister will do it.", "Shall I book it?", "", false},
		{"No, I don't think so.", "It rains.", "", false},
		{"Actually, can you book it?", "It is free.", "", false},
		{"No person claims that's wrong.", "It is free.", "", false},
		{"Where does Vera live?", "", "", false},
		{"不用了，谢谢", "要我订票吗？", "", false},
		{"不错，谢谢", "她住在奥斯陆。", "", false},
		{"不是很远", "多远？", "", false},
	} {
		if right, found := designer.Correction(c.said, c.answer); right != c.right || found != c.found {
			t.Errorf("%q: %q %v, want %q %v", c.said, right, found, c.right, c.found)
		}
	}
}
