// A person at a page, who acts with a mouse, by touch, or with the keyboard alone. Clicks and keystrokes are counted.
import assert from "node:assert/strict";

/** More presses of Tab than a person would accept. */
const MOST_TABS = 150;

/** Where the focus is in relation to an element: on it, before it or behind it; and if the focused element can be seen. */
function focusNextTo(wanted) {
    const focused = document.activeElement;
    const box = focused.getClientRects()[0] ?? focused.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + Math.min(box.height / 2, 20)];
    const top = document.elementFromPoint(x, y);
    const isNone = focused === document.body;
    if (!isNone) globalThis.hadFocus = true;
    // Where nothing is focused, Tab begins at the place that the address names.
    const begin = isNone ? document.querySelector(":target") : focused;
    return {
        isReached: focused === wanted,
        isBehind: begin !== null && Boolean(wanted.compareDocumentPosition(begin) & Node.DOCUMENT_POSITION_FOLLOWING),
        // The page itself remembers that it had the focus: a new page has not had it yet.
        isLost: isNone && globalThis.hadFocus === true,
        isSkipped: begin === null && document.getElementById("content").contains(wanted),
        // The link that skips to the content focuses the content itself. The point may be a gap between the lines of a link.
        isSeen: isNone || focused.id === "content" || (top !== null && (focused.contains(top) || top.contains(focused))),
        html: focused.outerHTML.slice(0, 160),
    };
}

export class Person {
    /** @param way mouse, touch or keyboard */
    constructor(page, way) {
        Object.assign(this, { page, way, clicks: 0, keys: 0, tabs: 0 });
    }

    /** What was done since the last call. */
    count() {
        const counted = this.way === "keyboard" ? [this.keys, this.tabs] : [this.clicks, this.keys];
        Object.assign(this, { clicks: 0, keys: 0, tabs: 0 });
        return counted;
    }

    async key(name) {
        await this.page.keyboard.press(name);
        if (name.endsWith("Tab")) this.tabs += 1; else this.keys += 1;
    }

    async #type(text) {
        await this.page.keyboard.type(text);
        this.keys += text.length;
    }

    /** Moves the focus to an element by Tab, or clicks it, where a position says. */
    async reach(target, position) {
        await target.waitFor();
        if (this.way === "keyboard") return this.#tabTo(target);
        this.clicks += 1;
        return this.way === "touch" ? target.tap({ position }) : target.click({ position });
    }

    /** From the start of a page, the first link skips to its content. */
    async #tabTo(target) {
        const element = await target.elementHandle();
        let at = await element.evaluate(focusNextTo);
        assert(!at.isLost, `the focus is lost on the way to ${target}`);
        if (at.isSkipped) {
            await this.key("Tab");
            await this.key("Enter");
            assert.equal(await this.page.evaluate(() => document.activeElement.id), "content");
        }
        for (let pressed = 0; pressed < MOST_TABS; pressed += 1) {
            at = await element.evaluate(focusNextTo);
            assert(at.isSeen, `the focus can be seen on the way to ${target}: ${at.html}`);
            if (at.isReached) return;
            await this.key(at.isBehind ? "Shift+Tab" : "Tab");
        }
        assert.fail(`${target} is not reached by ${MOST_TABS} presses of Tab; the focus is on ${at.html}`);
    }

    /** Follows a link, presses a button, or opens a list of more. */
    async press(target) {
        await this.reach(target);
        if (this.way === "keyboard") await this.key("Enter");
    }

    /** Replaces the text of a control. */
    async write(target, text, ...after) {
        await this.reach(target);
        if (await target.inputValue()) {
            await this.key("Control+a");
            if (!text) await this.key("Backspace");
        }
        await this.#type(text);
        for (const name of after) await this.key(name);
    }

    /** Types a date as an American reader's browser takes it, from its first part on. */
    async date(target, date) {
        const [year, month, day] = date.split("-");
        await this.reach(target, { x: 14, y: 15 });
        await this.#type(`${month}${day}${year}`);
        assert.equal(await target.inputValue(), date);
    }

    /** Chooses an option. The list that a browser opens is not part of the page: it takes two clicks. */
    async option(target, label) {
        if (this.way === "keyboard") {
            await this.reach(target);
            await this.#type(label);
        } else {
            await target.selectOption({ label });
            this.clicks += 2;
        }
        assert.equal(await target.evaluate((select) => select.selectedOptions[0].label), label);
    }

    /** Chooses the first or the second radio button of a group in which none is checked. */
    async choose([first, second], isSecond) {
        const target = isSecond ? second : first;
        if (this.way !== "keyboard") return this.press(target);
        await this.reach(first);
        await this.key(isSecond ? "ArrowDown" : "Space");
        assert(await target.isChecked());
    }

    /** Saves a form: who types needs no button. */
    async save() {
        if (this.way === "keyboard") await this.key("Control+s");
        else await this.press(this.page.getByRole("button", { name: "Save", exact: true }));
    }

    /** Chooses a file in the dialog of the browser, which is not part of the page. */
    async file(target, name, mimeType, buffer) {
        const [chooser] = await Promise.all([this.page.waitForEvent("filechooser"), this.press(target)]);
        await chooser.setFiles({ name, mimeType, buffer });
    }

    async download(target) {
        const [saved] = await Promise.all([this.page.waitForEvent("download"), this.press(target)]);
        return saved;
    }
}
