package payloadcodec

import (
	"bytes"
	"encoding/base64"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"cairn/internal/domain/fault"
)

func key(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, keyBytes)) }

func codec(t *testing.T, keys string) *Codec {
	t.Helper()
	c, err := New(keys)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatIsEncryptedIsReadByItsKeysAlone(t *testing.T) {
	t.Parallel()
	plain, err := converter.GetDefaultDataConverter().ToPayload("message +49 30 1234")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := codec(t, key(1)).Encode([]*commonpb.Payload{plain, plain})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(stored[0].Data, []byte("1234")) ||
		string(stored[0].Metadata[converter.MetadataEncoding]) != encrypted ||
		bytes.Equal(stored[0].Data, stored[1].Data) {
		t.Errorf("stored %v", stored)
	}
	for keys, reads := range map[string]bool{key(1): true, key(2) + ", " + key(1): true, key(2): false} {
		back, err := codec(t, keys).Decode(stored)
		if (err == nil) != reads || reads && (!bytes.Equal(back[0].Data, plain.Data) ||
			string(back[1].Metadata[converter.MetadataEncoding]) != "json/plain") {
			t.Errorf("read %v, %v; want %t", back, err, reads)
		}
	}
	stored[0].Data[len(stored[0].Data)-1] ^= 1
	if _, err := codec(t, key(1)).Decode(stored); err == nil {
		t.Error("a changed payload was read")
	}
	if _, err := codec(t, key(1)).Decode([]*commonpb.Payload{
		{Metadata: stored[0].Metadata, Data: []byte("short")}}); err == nil {
		t.Error("a cut payload was read")
	}
	if back, err := codec(t, key(1)).Decode([]*commonpb.Payload{plain}); err != nil || back[0] != plain {
		t.Errorf("what was never encrypted is read as %v, %v", back, err)
	}
}

func TestKeysThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"secret", "c2hvcnQ=", key(1) + ",", key(1) + ",x"} {
		if _, err := New(keys); fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("%q: %v", keys, err)
		}
	}
	if c, err := New(" "); c != nil || err != nil {
		t.Errorf("without keys there is %v, %v", c, err)
	}
}
