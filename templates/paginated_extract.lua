-- paginated_extract: extracts a list page by page, going on by its link or
-- button to the next page, until there is none, it repeats itself, or enough
-- pages have been seen.
local json, kit = ...

local MAX_PAGES = 50
local PAGES = 5
local FIND_MS = 1000
local CHANGE_MS = 8000 -- for what a press brings without another document
local SCROLL_MS = 2500 -- for what comes to who scrolls
local info_out, content_out = kit.extract_out()

local function count(description)
	return { type = "integer", minimum = 0, description = description }
end

local page_out = {
	type = "object",
	required = { "pageNumber", "page" },
	properties = {
		pageNumber = { type = "integer",
			description = "From 1, in the order seen." },
		page = kit.page_out("Its address and title."),
		pageInfo = info_out,
		content = content_out,
		pending = kit.pending_out(),
	},
}

local template = {
	id = "paginated_extract",
	version = "1.0.0",
	name = "Extract page by page",
	description = "Opens a page, extracts it, goes on by its link or button "
		.. "to the next page, and so on: for lists, search results and "
		.. "articles in parts. Works with pages that load more without "
		.. "a new address, too: each has what is new. If the "
		.. "addresses of all pages are known, batch_extract_pages is faster.",
	inputs = kit.object({
		startUrl = kit.url("The first page."),
		pagination = kit.object({
			next = kit.locator("What leads to the next page; if "
				.. "not given: a link or button that says "
				.. "so in any language, the next number, "
				.. "\"load more\", or scrolling."),
			maxPages = kit.integer(1, MAX_PAGES, PAGES,
				"How many pages to extract at most."),
			waitFor = kit.condition("When the next page is there; "
				.. "if not given, when it keeps still."),
		}, nil, "How to get on."),
		extract = kit.extract(),
		settle = kit.settle(),
		dialogs = kit.dialogs(),
		device = kit.device(),
		consent = kit.consent_in(),
		navigationTimeoutMs = kit.navigation_timeout(
			"Time a page has to load, in milliseconds."),
	}, { "startUrl" }),
	outputs = {
		type = "object",
		required = { "success", "summary", "pages", "stoppedReason" },
		properties = {
			dialogs = kit.dialogs_out(),
			success = { type = "boolean", description = "Whether "
				.. "all pages that were met could be read." },
			summary = {
				type = "object",
				required = { "totalPages", "extractedPages",
					"total", "succeeded", "failed" },
				properties = {
					totalPages = count("Pages that were "
						.. "met."),
					extractedPages = count("Pages that "
						.. "were extracted."),
					total = count("As totalPages."),
					succeeded = count("As "
						.. "extractedPages."),
					failed = count("The difference."),
					cutPages = count("Those of which "
						.. "content was cut."),
					shortenedPages = count("Those that "
						.. "are shorter here than in "
						.. "the artifact."),
				},
				description = "How it went, in numbers.",
			},
			pages = { type = "array", items = page_out,
				description = "The pages, in their order." },
			stoppedReason = { type = "string", enum = {
				"max_pages", "repeated_page",
				"next_unavailable" },
				description = "Why there are no more: enough "
					.. "pages, one that was there already, "
					.. "or nothing to go on by." },
			error = kit.error_out(),
			consent = kit.consent_out(),
		},
	},
	limits = { maxUrls = MAX_PAGES, maxConcurrency = 1,
		maxTimeoutMs = 600000 },
	trustLevelSupport = { "local", "remote" },
	executionMode = "auto",
	supportsPartialSuccess = true,
	partialSuccessThreshold = 0.5,
	restartSafe = true,
	resources = "all",
	exampleInputs = {
		startUrl = "https://example.com/list",
		pagination = {
			next = { mode = "semantic", query = "next page" },
			maxPages = 3,
			waitFor = { type = "stable" },
		},
		extract = { pageInfo = false, content = true },
	},
	errorCodes = { "NAVIGATION_TIMEOUT", "ELEMENT_NOT_FOUND",
		"PAGE_CRASHED", "STEP_EXECUTION_FAILED", "INVALID_PARAMETER" },
}

-- All a page says, in a few letters; the same of two pages: it is the same.
local DIGEST = [[() => {
	const text = document.body ? document.body.innerText : "";
	let a = 0x811c9dc5, b = 5381;
	for (let i = 0; i < text.length; i++) {
		const c = text.charCodeAt(i);
		a = Math.imul(a ^ c, 0x01000193);
		b = Math.imul(b, 33) + c | 0;
	}
	return [text.length, a >>> 0, b >>> 0].join("-");
}]]

-- What the page lists is known from here on; the address of the next one where
-- the page's head names it.
local function extract_page(ctx, tab, list, pending)
	local doc = kit.must(tab:extract(ctx.inputs.extract))
	local info = kit.must(tab:info())
	local n = #list + 1

	list[n] = { pageNumber = n, doc = doc, pending = pending,
		page = { url = kit.cut(info.url, 2048),
			title = kit.cut(info.title, 1024) },
		cut = doc:get("content", "truncated") == true }
	list[n].next_url = kit.must(tab:list { go = "mark" }).nextUrl
end

-- What is there already: pages by what they say, and by an address that was
-- gone to again.
local function is_new(tab, seen)
	local digest = kit.must(tab:look(DIGEST))
	local url = kit.must(tab:info()).url:gsub("#.*", "")

	if seen[digest] or seen[url] then
		return false
	end
	seen[digest], seen[url] = true, true
	return true
end

local function is_dead(found)
	return not found or not found.visible or not found.enabled
end

local function await_condition(tab, condition)
	local met, why = tab:wait(condition)

	if not met and why.cause == "ACTION_TIMEOUT" then
		error({ code = "NAVIGATION_TIMEOUT", message =
			"the next page is not ready: " .. why.message }, 0)
	end
	kit.must(met, why)
end

-- Where nothing can be pressed: the page's head may name the next one, or more
-- comes to who scrolls. How long to wait for it, or nil.
local function go_on_unpressed(ctx, tab, last)
	if last.next_url then
		kit.open(tab, last.next_url, ctx.inputs.navigationTimeoutMs)
		return CHANGE_MS
	end
	return kit.must(tab:list { go = "scroll" }).moved and SCROLL_MS or nil
end

-- Goes on; for how long to wait for what it brings, or nil: there is no way.
local function go_on(ctx, tab, rules, last)
	local found, err = tab:find(rules.next,
		{ timeoutMs = rules.given and FIND_MS or 0 })
	if err then
		error(err, 0)
	elseif not found and not rules.given then
		return go_on_unpressed(ctx, tab, last)
	elseif is_dead(found) then
		return nil
	end
	kit.must(tab:click(rules.next, { navigationTimeoutMs =
		ctx.inputs.navigationTimeoutMs }))
	if rules.wait_for then
		await_condition(tab, rules.wait_for)
	end
	return CHANGE_MS
end

local function next_page(ctx, tab, rules, seen, list)
	local wait = go_on(ctx, tab, rules, list[#list])
	if not wait then
		return "next_unavailable"
	end
	local news = kit.must(tab:list { go = "changed", timeoutMs = wait })
	local pending = kit.rest(tab, ctx.inputs.settle)
	if news.document and not is_new(tab, seen) then
		return "repeated_page"
	elseif not news.document and not news.changed then
		return wait == SCROLL_MS and "next_unavailable"
			or "repeated_page"
	end
	extract_page(ctx, tab, list, pending)
	return nil
end

-- A page that fails ends the list, not the run: what was read is kept.
local function try_next(ctx, tab, rules, seen, list)
	local ok, value = pcall(next_page, ctx, tab, rules, seen, list)
	if ok then
		return value
	elseif type(value) ~= "table" then
		error(value, 0)
	end
	return "next_unavailable", value
end

-- Pages after the first: the reason to stop, and an error that was one.
local function read_on(ctx, tab, rules, seen, list)
	while #list < rules.max_pages do
		local reason, err
		ctx:step("next_page", function()
			reason, err = try_next(ctx, tab, rules, seen, list)
			return { pages = #list, stopped = reason,
				failed = err and (err.cause or err.code) }
		end)
		if reason then
			return reason, err
		end
		ctx:progress { done = #list, total = rules.max_pages }
	end
	return "max_pages"
end

local function store(ctx, list)
	local all = json.array {}
	for i, entry in ipairs(list) do
		all[i] = { pageNumber = i, page = entry.page,
			pageInfo = entry.doc:at("pageInfo"),
			content = entry.doc:at("content"),
			pending = entry.pending }
	end
	ctx:artifact { kind = "extraction", mime = "application/json",
		name = "extraction.json", data = all }
end

local function cut_pages(list)
	local n = 0
	for _, entry in ipairs(list) do
		n = n + (entry.cut and 1 or 0)
	end
	return n
end

-- What the caller did not get, and how to get it.
local function warn_of_missing(ctx, tab, rules, list, reason, err)
	local cut = cut_pages(list)

	if cut > 0 then
		ctx:warn(cut .. " of " .. #list .. " pages were cut: raise "
			.. "extract.maxContentLength or maxElements")
	end
	if err then
		ctx:warn("page " .. #list + 1 .. " could not be read: "
			.. kit.cut(err.message, 300))
	elseif reason == "next_unavailable" and #list == 1 then
		ctx:warn("the first page has nothing to go on by")
	elseif reason == "max_pages" and not is_dead(tab:find(rules.next)) then
		ctx:warn("there are more pages: raise pagination.maxPages")
	end
end

local function make_result(list, reason, err)
	local room = math.max(2000, math.min(20000, 60000 // #list))
	local total = #list + (err and 1 or 0)
	local pages, shortened = json.array {}, 0

	for i, entry in ipairs(list) do
		local info, content, less = kit.fit_extract(entry.doc, room)
		shortened = shortened + (less and 1 or 0)
		pages[i] = { pageNumber = i, page = entry.page,
			pageInfo = info, content = content,
			pending = entry.pending }
	end
	return { success = err == nil, pages = pages, stoppedReason = reason,
		error = err and kit.error(err) or nil,
		summary = { totalPages = total, extractedPages = #list,
			total = total, succeeded = #list,
			failed = total - #list, cutPages = cut_pages(list),
			shortenedPages = shortened } }
end

function template.run(ctx)
	local inputs, tab = ctx.inputs, ctx:tab()
	local given = inputs.pagination or {}
	local rules = { given = given.next ~= nil,
		next = given.next and kit.target(given.next, "any")
			or { mode = "pager" },
		max_pages = given.maxPages or PAGES, wait_for = given.waitFor }
	local list, seen = {}, {}
	local consent

	ctx:progress { done = 0, total = rules.max_pages }
	ctx:step("first_page", function()
		kit.open(tab, inputs.startUrl, inputs.navigationTimeoutMs)
		consent = kit.consent(ctx, tab)
		local pending = kit.rest(tab, inputs.settle)
		is_new(tab, seen)
		extract_page(ctx, tab, list, pending)
	end)
	ctx:progress { done = 1, total = rules.max_pages }
	local reason, err = read_on(ctx, tab, rules, seen, list)
	warn_of_missing(ctx, tab, rules, list, reason, err)
	store(ctx, list)
	ctx:progress { done = #list, total = #list }
	local result = make_result(list, reason, err)
	result.consent = consent
	if result.summary.shortenedPages > 0 then
		ctx:warn(result.summary.shortenedPages .. " of " .. #list
			.. " pages are shortened in the result: the artifact "
			.. "extraction has all of them")
	end
	return result
end

return template
