package media

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is why a file was not read.
type Problem string

// Problems of files.
const (
	TooLarge    Problem = "too_large"
	TooMany     Problem = "too_many"
	Unknown     Problem = "unknown"     // another type than those that are read
	Empty       Problem = "empty"       // no content, or no speech in it
	NoModel     Problem = "no_model"    // no model takes files of this kind
	Refused     Problem = "refused"     // the model did not take it
	Unavailable Problem = "unavailable" // the platform or the endpoint did not answer
	Unasked     Problem = "unasked"     // a message to others in a group; the user is not told
)

// Unread is a file that was not read. It has no name, because a name is content.
type Unread struct {
	Kind    Kind    `json:"kind,omitempty"`
	Problem Problem `json:"problem"`
}

// Notice returns the text that names what was not read, one line for each reason, in the language en or zh.
func Notice(lang string, files []Unread) string {
	var lines []string
	for _, f := range files {
		if line := f.line(lang); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func (u Unread) line(lang string) string {
	words := english
	if lang == "zh" {
		words = chinese
	}
	reason, known := words.reasons[u.Problem]
	if special := words.special[u]; special != "" {
		reason = special
	}
	if !known {
		return ""
	}
	if strings.Contains(reason, "%d") {
		limit := u.Kind.Limit() >> 20
		if u.Problem == TooMany {
			limit = MaxImages
		}
		reason = fmt.Sprintf(reason, limit)
	}
	return fmt.Sprintf(words.line, words.files[u.Kind], reason)
}

// words are the texts of a language.
type words struct {
	line    string // of a file and the reason
	files   map[Kind]string
	reasons map[Problem]string
	special map[Unread]string // reasons of one kind
}

var english = words{
	line:  "I could not read %s: %s.",
	files: map[Kind]string{"": "the file", Image: "the image", Voice: "the voice message"},
	reasons: map[Problem]string{
		TooLarge:    "the limit is %d MB",
		TooMany:     "a message can have %d files",
		Unknown:     "I read text, PDF and DOCX files, images and voice messages",
		Empty:       "it is empty",
		NoModel:     "no model takes it",
		Refused:     "the model did not accept it",
		Unavailable: "it is not available at the moment",
	},
	special: map[Unread]string{
		{Image, NoModel}:     "the model does not take images",
		{Voice, NoModel}:     "no model for transcription is configured",
		{Voice, Empty}:       "no speech was recognized",
		{Voice, Refused}:     "the model could not transcribe it",
		{Voice, Unavailable}: "transcription is not available at the moment",
	},
}

var chinese = words{
	line:  "我无法读取%s：%s。",
	files: map[Kind]string{"": "该文件", Image: "该图片", Voice: "该语音消息"},
	reasons: map[Problem]string{
		TooLarge:    "大小上限为 %d MB",
		TooMany:     "一条消息最多可带 %d 个文件",
		Unknown:     "我可以读取文本、PDF、DOCX 文件、图片和语音消息",
		Empty:       "内容为空",
		NoModel:     "没有可用的模型",
		Refused:     "模型不接受该内容",
		Unavailable: "暂时无法获取",
	},
	special: map[Unread]string{
		{Image, NoModel}:     "当前模型不支持图片",
		{Voice, NoModel}:     "未配置语音转写模型",
		{Voice, Empty}:       "没有识别到语音内容",
		{Voice, Refused}:     "模型无法转写",
		{Voice, Unavailable}: "语音转写暂时不可用",
	},
}
