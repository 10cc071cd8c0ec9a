// Command hook puts memory around an agent of one's own. The agent here only
// repeats what it was told was recalled; in its place stands whatever answers.
// Lines of standard input are the messages of a session.
//
//	CAIRN_KEY=cairn_… go run ./docs/examples/hook -session trip < lines.txt
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"cairn/starter/client"
)

func main() {
	session := flag.String("session", "example", "name of the session")
	marks := flag.String("marks", ".cairn-marks", "folder that remembers what was recorded")
	flag.Parse()
	memory, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	agent := memory.Hook(*session, parrot, client.HookOptions{Marks: client.FileMarks(*marks), Failed: func(err error) { log.Print(err) }})
	var said []client.Message
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		said = append(said, client.Message{Role: "user", Content: lines.Text()})
		if said, err = agent(context.Background(), said); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("you:   %s\nagent: %s\n", lines.Text(), said[len(said)-1].Content)
	}
}

// parrot is an agent that knows what was recalled and nothing else.
func parrot(_ context.Context, messages []client.Message) ([]client.Message, error) {
	reply := "I remember nothing of that."
	if first := messages[0]; first.Role == "system" {
		_, facts, _ := strings.Cut(first.Content, "\n")
		reply = "I remember: " + strings.TrimSpace(facts)
	}
	return append(messages, client.Message{Role: "assistant", Content: reply}), nil
}
