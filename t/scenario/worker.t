#!/usr/bin/perl
# The real workerd with the real browser and the demo site; supervisord, the
# launcher and the cell are played by workerdrive.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);
use HTTP::Tiny;
use IPC::Open2;
use JSON::PP;
use Test::More;

# How many times as long as promised a shared machine may take.
use constant SLOWER => 5;

my $build = $ENV{builddir} // die "builddir is not set\n";
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
our ($browser) = grep { -x } map { "$chromium/$_" }
    qw(chromium-headless-shell chromium);
plan skip_all => 'no Chromium is installed' unless defined $browser;

my $dir = tempdir(CLEANUP => 1);
my $json = JSON::PP->new->utf8;

my $site_pid = open2(my $site_out, my $site_in,
    "$build/site/demosite", '-p', '0', '--exit-on-eof');
my $site = <$site_out> // die "demosite did not start\n";
$site =~ s{/?\s*$}{};

# Runs a worker; what it said, by message name.
sub drive {
	my ($inputs, @args) = @_;
	my %said = (item => {});

	open(my $fh, '>', "$dir/inputs") or die "inputs: $!\n";
	print $fh ref $inputs ? $json->encode($inputs) : $inputs;
	close $fh;
	my $pid = open(my $out, '-|') // die "fork: $!\n";
	if ($pid == 0) {
		open(STDIN, '<', "$dir/inputs") or die;
		exec "$build/t/scenario/workerdrive", '-b', $browser, '-o',
		    $dir, @args, "$build/workerd/workerd" or die;
	}
	while (<$out>) {
		chomp;
		my ($name, $rest) = split ' ', $_, 2;
		if ($name eq 'item') {
			my ($i, $ok, $done, $digest, $record) =
			    split ' ', $rest, 5;
			$said{item}{$i} = { ok => $ok, done => $done,
			    digest => $digest,
			    record => $json->decode($record) };
			$said{times}{$i}++;
		} else {
			push @{$said{$name}}, $rest // '';
		}
	}
	close $out;
	return \%said;
}

sub slurp {
	my ($name) = @_;
	open(my $fh, '<', "$dir/$name") or return '';
	local $/;
	return scalar <$fh>;
}

sub fetched {
	my $log = HTTP::Tiny->new->get("$site/_log");
	return map { $_->{path} => $_->{count} }
	    @{$json->decode($log->{content})};
}

sub describe_itself {
	my $said = drive('', '-d');
	my $meta = eval { $json->decode($said->{'template.meta'}[0]) };

	is($meta->{id}, 'batch_extract_pages', 'the template is described');
	is($meta->{version}, '1.0.0', 'with its version');
	is($said->{exit}[0], 0, 'and the worker exits');
}

sub batch {
	my @paths = ('/corpus/1', '/missing', '/redirect', '/alert', '/never',
	    '/download', '/corpus/2', '/redirect-loop');
	my $said = drive({ csv => JSON::PP::true, urls =>
	    [ (map { "$site$_" } @paths), 'not an address', '=1+2' ] });
	my $item = $said->{item};

	is(scalar keys %$item, 10, 'ten items');
	is_deeply([ map { $item->{$_}{ok} } 0 .. 9 ],
	    [ 1, 1, 1, 1, 1, 0, 1, 0, 0, 0 ], 'good and bad addresses');
	is($item->{0}{record}{pageType}, 'article', 'an article is one');
	cmp_ok($item->{0}{record}{elementCount}, '>', 20, 'with elements');
	cmp_ok($item->{0}{record}{contentSections}, '>', 3, 'and sections');
	is($item->{1}{record}{status}, 404, 'a page that says 404 was read');
	is($item->{2}{record}{finalUrl}, "$site/article-harbour",
	    'a redirect is followed');
	is($item->{5}{record}{error}{cause}, 'DOWNLOAD_REFUSED', 'a download');
	is($item->{8}{record}{error}{errorCode}, 'INVALID_PARAMETER',
	    'an address that is none is a failed item');
	is($item->{0}{digest}, substr(sha256_hex("$site/corpus/1"), 0, 16),
	    'items are keyed by their address');
	is_deeply([ sort { $a <=> $b } map { $_->{done} } values %$item ],
	    [ 1 .. 10 ], 'progress counts every item');
	like($said->{'run.end'}[0], qr/^1 /, 'the run is fine all the same');
	is($said->{exit}[0], 0, 'the worker exits');
	like($said->{'step.end'}[0], qr/"failed_items":4/, 'the step counts');

	my $all = $json->decode(slurp('extraction.json'));
	is(scalar @$all, 10, 'the extraction has every item');
	is($all->[0]{pageInfo}{title}, $item->{0}{record}{title},
	    'with page information');
	ok(@{$all->[0]{content}{sections}} > 3, 'and content');
	my @csv = split /\r\n/, slurp('items.csv');
	is(scalar @csv, 11, 'CSV: a header and ten rows');
	like($csv[10], qr/^'=1\+2,/, 'no formula in it');
	return $item;
}

sub journal {
	my $digest = substr(sha256_hex("$site/corpus/4"), 0, 16);
	my $other = substr(sha256_hex("another address"), 0, 16);

	ok(HTTP::Tiny->new->post("$site/_log/reset")->{success},
	    'the log of the site is empty');
	my $said = drive({ urls => [ map { "$site/corpus/$_" } 3 .. 6 ] },
	    '-j', "1:$digest");
	my %count = fetched();

	is_deeply([ sort keys %{$said->{item}} ], [ 0, 2, 3 ],
	    'a journaled item is not done again');
	ok(!exists $count{'/corpus/4'}, 'nor its page fetched');
	is($count{'/corpus/3'}, 1, 'the others once');
	is($said->{item}{0}{done} + $said->{item}{2}{done} +
	    $said->{item}{3}{done}, 2 + 3 + 4, 'progress goes on after it');
	like($said->{'step.end'}[0], qr/"done_before":1/, 'and is told');
}

# Whatever the page does, a cancel is answered within the grace period.
sub cancel {
	for my $path (qw(/never-headers /never-style /spin /alert-loop
	    /mutate /trickle /corpus/9)) {
		my $said = drive({ urls => [ "$site/corpus/7",
		    ("$site$path") x 5 ], concurrency => 3 }, '-c',
		    '1:cancel');
		like($said->{'run.end'}[0], qr/^0 RUN_CANCELED extract_pages /,
		    "$path: canceled");
		cmp_ok($said->{'after-ms'}[0], '<', SLOWER * 300,
		    "$path: after $said->{'after-ms'}[0] ms");
		is($said->{exit}[0], 0, "$path: the worker exits");
	}
	my $said = drive({ urls => [ ("$site/never-headers") x 3 ] }, '-c',
	    '0:timeout');
	like($said->{'run.end'}[0], qr/^0 RUN_TIMEOUT /, 'a timeout says so');
	$said = drive({ urls => [ ("$site/never-headers") x 3 ] }, '-c',
	    '0:shutdown');
	like($said->{'run.end'}[0], qr/^0 SHUTTING_DOWN /, 'a shutdown, too');
}

sub deaths {
	my $urls = [ map { "$site/corpus/$_" } 1 .. 40 ];
	my $said = drive({ urls => $urls }, '-k', '5');

	like($said->{'run.end'}[0], qr/^0 PAGE_CRASHED extract_pages /,
	    'a dead browser ends the run');
	cmp_ok($said->{'after-ms'}[0], '<', SLOWER * 500,
	    "after $said->{'after-ms'}[0] ms");
	like($said->{'step.end'}[0], qr/^extract_pages 0 PAGE_CRASHED/,
	    'with its step closed');
	is($said->{exit}[0], 0, 'the worker exits');

	$said = drive({ urls => $urls }, '-x', '5');
	cmp_ok($said->{'after-ms'}[0], '<', SLOWER * 200,
	    "without supervisord the worker ends, after "
	    . "$said->{'after-ms'}[0] ms");
	is($said->{exit}[0], 1, 'and says that it was not done');
}

sub refusals {
	my $said = drive({ urls => [ "$site/corpus/1" ] }, '-g');
	is($said->{exit}[0], 1, 'run.go before the inputs ends the worker');
	ok(!$said->{'run.end'}, 'without a word about a run');

	$said = drive({ urls => [ "$site/corpus/1" ] }, '-t', 'none');
	like($said->{'run.end'}[0], qr/^0 TEMPLATE_NOT_FOUND /,
	    'a template it does not have');

	local $browser = '/bin/false';
	$said = drive({ urls => [ "$site/corpus/1" ] });
	like($said->{'run.end'}[0], qr/^0 BROWSER_START_FAILED /,
	    'a browser that does not start');
	is($said->{exit}[0], 0, 'and the worker exits');
}

sub slow_reader {
	my $said = drive({ urls => [ map { "$site/corpus/$_" } 1 .. 60 ],
	    extract => { maxContentLength => 50000, maxElements => 1000 },
	    concurrency => 5 }, '-h', '2000');

	is(scalar keys %{$said->{item}}, 60,
	    'a supervisord that pauses loses no item');
	is(scalar @{$json->decode(slurp('extraction.json'))}, 60,
	    'nor any byte');
	cmp_ok($said->{'rss-kib'}[0], '<', 100 * 1024,
	    'in bounded memory') unless $ENV{ASAN_OPTIONS};
}

# Another supervisord takes over in the middle; what the first one had not read
# comes again, from the worker, not from the pages.
sub resumed {
	for my $at (1, 20, 39) {
		HTTP::Tiny->new->post("$site/_log/reset");
		my $said = drive({ urls => [ map { "$site/corpus/$_" } 1 .. 40 ],
		    concurrency => 8 }, '-r', $at);
		my %count = fetched();

		is($said->{'run.resumed'}[0], '1 1 1',
		    "resumed after $at items: whole, where it was");
		is(scalar keys %{$said->{times}}, 40, 'every item is there');
		is((grep { $_ != 1 } values %{$said->{times}}), 0, 'once');
		is((grep { /corpus/ && $count{$_} != 1 } keys %count), 0,
		    'no page is fetched twice');
		is(scalar @{$json->decode(slurp('extraction.json'))}, 40,
		    'every byte is there');
		like($said->{'run.end'}[0], qr/^1 /, 'and it ends well');
		is($said->{exit}[0], 0, 'the worker exits');
	}
}

sub cost {
	my $said = drive({ urls => [ map { "$site/corpus/$_" } 1 .. 100 ] });

	is(scalar keys %{$said->{item}}, 100, 'a hundred pages');
	is((grep { !$_->{ok} } values %{$said->{item}}), 0, 'all well');
	diag("worker: $said->{'cpu-ms'}[0] (CPU), $said->{'rss-kib'}[0] KiB");
}

describe_itself();
batch();
journal();
cancel();
resumed();
deaths();
refusals();
slow_reader();
cost();
close $site_in;
waitpid $site_pid, 0;
done_testing();
