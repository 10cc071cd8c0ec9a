package openaiapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/media"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
)

// contentPart is a part of the content of a message.
type contentPart struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Refusal string          `json:"refusal"`
	Image   json.RawMessage `json:"image_url"` // a URL, or an object with it
}

// contentOf reads the content of a message: a text, or a list of texts and, if the message may show them, of images.
// The text names each image.
func contentOf(param string, raw json.RawMessage, mayShow bool) (text string, images []transcript.Attachment,
	err error) {
	if empty(raw) || json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var parts []contentPart
	if json.Unmarshal(raw, &parts) != nil {
		return "", nil, invalid(param, "content must be a string or a list of parts")
	}
	var all []string
	for i, p := range parts {
		one := fmt.Sprintf("%s[%d]", param, i)
		switch {
		case p.Type == "text" || p.Type == "input_text" || p.Type == "output_text" || p.Type == "refusal":
			all = append(all, p.Text+p.Refusal)
		case mayShow && (p.Type == "image_url" || p.Type == "input_image"):
			image, mark, err := p.image(one)
			if err != nil {
				return "", nil, err
			}
			images, all = append(images, image), append(all, mark)
		case mayShow:
			return "", nil, invalid(one+".type", "content of type %.40q is not supported; send text or images", p.Type)
		default:
			return "", nil, invalid(one+".type", "content of type %.40q is not supported; send text", p.Type)
		}
	}
	return strings.Join(all, "\n"), images, nil
}

// image reads an image from a data URL, and returns the text that names it.
func (p contentPart) image(param string) (out transcript.Attachment, mark string, err error) {
	var url string
	var object struct{ URL string }
	if json.Unmarshal(p.Image, &url) != nil && json.Unmarshal(p.Image, &object) == nil {
		url = object.URL
	}
	param += ".image_url"
	rest, isData := strings.CutPrefix(url, "data:")
	head, data, found := strings.Cut(rest, ",")
	if !isData || !found || !strings.HasSuffix(head, ";base64") {
		return out, "", invalid(param, "an image must be a data URL, such as data:image/png;base64,iVBORw0KGgo…; "+
			"other URLs and file IDs are not read")
	}
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return out, "", invalid(param, "the image is not base64: %v", err)
	}
	kind, mime := media.Sniff(content, "")
	if kind != media.Image {
		return out, "", invalid(param, "the content is not an image; send PNG, JPEG, GIF or WebP")
	}
	if len(content) > media.MaxImage {
		return out, "", invalid(param, "the image has %d bytes, the limit is %d", len(content), media.MaxImage)
	}
	sum := sha256.Sum256(content)
	return transcript.Attachment{Kind: kind, Type: mime, Content: content},
		media.ImageMark("", hex.EncodeToString(sum[:])), nil
}

// checkImages refuses images for a model that does not take them.
func checkImages(spec agentrun.Spec, param, model string, ms []transcript.Message) error {
	if spec.Images {
		return nil
	}
	for _, m := range ms {
		if len(m.Attachments) > 0 {
			return invalid(param, "model %.80q does not take images; send text, or add the model to CAIRN_IMAGE_MODELS",
				model)
		}
	}
	return nil
}
