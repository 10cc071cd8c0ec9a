// Package media recognizes images and recordings by their content. It has the limits of both, and the texts for users
// whose files were not read.
package media

import (
	"strings"
	"unicode"
)

// Kind is what a file is to a model. A file with text has none.
type Kind string

// Kinds of files.
const (
	Image Kind = "image"
	Voice Kind = "voice" // a recording of speech
)

// Limits of files.
const (
	MaxImage  = 10 << 20 // bytes
	MaxVoice  = 25 << 20 // bytes; OpenAI takes no larger ones
	MaxText   = 20 << 20 // bytes of a file with text
	MaxImages = 5        // of a message
)

// VoiceMark is the text of a recording in its message until its words are known.
const VoiceMark = "[voice message]"

// ImageMark returns the text that names an image in its message, also when requests do not have the image any more. An
// image without a name has the start of its SHA-256, in hexadecimal digits.
func ImageMark(name, sha256 string) string {
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '[' || r == ']' // it could end the mark
	}), " ")
	if name == "" {
		name = sha256[:min(len(sha256), 8)]
	}
	return ImagePrefix + name + "]"
}

// ImagePrefix begins the text that names an image.
const ImagePrefix = "[image "

// Noun returns the word for files of a kind.
func (k Kind) Noun() string {
	switch k {
	case Image:
		return "image"
	case Voice:
		return "voice message"
	}
	return "file"
}

// signatures are the first bytes of files. A dot stands for any byte.
var signatures = []struct {
	bytes string
	kind  Kind
	mime  string
}{
	{"\x89PNG\r\n\x1a\n", Image, "image/png"},
	{"\xff\xd8\xff", Image, "image/jpeg"},
	{"GIF87a", Image, "image/gif"},
	{"GIF89a", Image, "image/gif"},
	{"RIFF....WEBP", Image, "image/webp"},
	{"RIFF....WAVE", Voice, "audio/wav"},
	{"OggS", Voice, "audio/ogg"},
	{"fLaC", Voice, "audio/flac"},
	{"ID3", Voice, "audio/mpeg"},
	{"#!AMR", Voice, "audio/amr"},
	{"....ftypM4A", Voice, "audio/mp4"},
	{"....ftypM4B", Voice, "audio/mp4"},
}

// containers are formats of recordings and of videos. What the sender states decides between them.
var containers = []struct{ bytes, mime string }{
	{"....ftyp", "audio/mp4"},
	{"\x1a\x45\xdf\xa3", "audio/webm"},
}

// Sniff returns what a file is by its content, and its MIME type. The stated type is used only to tell a recording from
// a video in the same container. Other files have no kind.
func Sniff(raw []byte, stated string) (kind Kind, mime string) {
	for _, s := range signatures {
		if begins(raw, s.bytes) {
			return s.kind, s.mime
		}
	}
	if len(raw) > 1 && raw[0] == 0xff && raw[1]&0xe6 == 0xe2 { // frame of MPEG audio, layer 3
		return Voice, "audio/mpeg"
	}
	for _, c := range containers {
		if Stated(stated) == Voice && begins(raw, c.bytes) {
			return Voice, c.mime
		}
	}
	return "", ""
}

func begins(raw []byte, signature string) bool {
	if len(raw) < len(signature) {
		return false
	}
	for i := range len(signature) {
		if signature[i] != '.' && signature[i] != raw[i] {
			return false
		}
	}
	return true
}

// Stated returns the kind of a MIME type that a sender states.
func Stated(mime string) Kind {
	switch kind, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(mime)), "/"); kind {
	case "image":
		return Image
	case "audio":
		return Voice
	}
	return ""
}

// FileName returns a name for a recording. Endpoints recognize the format by its extension.
func FileName(mime string) string {
	extensions := map[string]string{"audio/mpeg": "mp3", "audio/mp4": "m4a"}
	_, extension, _ := strings.Cut(mime, "/")
	if known := extensions[mime]; known != "" {
		extension = known
	}
	return "voice." + extension
}

// Limit returns the limit of a kind of file in bytes.
func (k Kind) Limit() int {
	switch k {
	case Image:
		return MaxImage
	case Voice:
		return MaxVoice
	}
	return MaxText
}
