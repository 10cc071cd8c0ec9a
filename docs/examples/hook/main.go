// Command hook adds memory to your own agent in each of the three modes. In mode static,
// the hook recalls memories before the agent runs and records the messages afterwards. In
// mode tools, the agent gets memory tools. In mode both, it does both. Each line of
// standard input is a message of the session.
//
//	CAIRN_KEY=cairn_… go run ./docs/examples/hook -session trip -mode both < lines.txt
//
// If OPENAI_BASE_URL, OPENAI_API_KEY and CAIRN_MODEL are set, a model replies (model.go).
// Otherwise a parrot replies, which only knows the recalled memories (parrot.go).
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"cairn/starter/client"
)

func main() {
	session := flag.String("session", "example", "name of the session")
	mode := flag.String("mode", string(client.HookStatic), "who uses memory: static, tools or both")
	marks := flag.String("marks", ".cairn-marks", "folder of the marks that record the progress of each session")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	memory, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	reply := parrot
	if at := os.Getenv("OPENAI_BASE_URL"); at != "" {
		reply = endpoint{url: at, key: os.Getenv("OPENAI_API_KEY"), model: os.Getenv("CAIRN_MODEL")}.answer
	}
	agent := memory.Hook(*session, reply,
		client.HookOptions{Mode: client.HookMode(*mode), Marks: client.FileMarks(*marks), Failed: func(err error) {
			log.Print(err)
		}})
	var messages []client.Message
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		messages = append(messages, client.Message{Role: "user", Content: lines.Text()})
		if messages, err = agent(ctx, messages); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("you:   %s\nagent: %s\n", lines.Text(), messages[len(messages)-1].Content)
	}
}
