#!/usr/bin/perl
# Only batches could wait for late data and say what was pending, and of that
# requests alone. Every template that reads pages takes settle and says pending:
# timers, connections and refreshes, too. A page that loads itself anew after a
# check is read as it is then.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use IO::Socket::INET;
use JSON::PP ();
use Test::More;

my $dir = tempdir('bt-pending-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
my $deaf = IO::Socket::INET->new(Listen => 8, LocalAddr => '127.0.0.1')
    or die "$!\n"; # lets connect, never answers
my $host = '127.0.0.1:' . $deaf->sockport;

sub put {
	my ($name, $html) = @_;
	open(my $fh, '>', "$dir/$name.html") or die "$!\n";
	print $fh "<!DOCTYPE html><meta charset=utf-8><title>$name</title>$html";
	close $fh or die "$!\n";
}

my $p = '<main><h1>Late</h1><p id=p>Nothing yet.</p></main>';
my $come = 'document.getElementById("p").textContent = "It has come."';
# One after the other, however late somebody looks.
put('timer', "$p<script>(function again() { setTimeout(again, 4000) })();"
	. 'setTimeout(() => {}, 60000); clearTimeout(setTimeout(() => {}, 900))'
	. '</script>');
put('clock', "$p<script>setInterval(() => {}, 900)</script>");
put('socket', "$p<script>new WebSocket('ws://$host/never')</script>");
put('refresh', "<meta http-equiv=Refresh content='30; url=/timer'>$p");
put('still', "$p<script>setTimeout(() => { $come }, 20)</script>");
# A cookie is what the check leaves.
sub check {
	my ($ms) = @_;
	return $p . '<script>if (document.cookie.includes("ok=1")) ' . $come
	    . '; else setTimeout(() => { document.cookie = "ok=1"; '
	    . "location.reload() }, $ms)</script>";
}
put('check', check(150));
put('slowcheck', check(2500));
put('form', '<form action=/coming><label>Name <input name=q></label>'
	. '<input type=search name=s><button>Send</button></form>');
put('coming', $p . '<a rel=next href=/coming2>Next</a><script>setTimeout(() => {'
	. " $come }, 1000)</script>");
put('coming2', "$p<script>setTimeout(() => { document.title = 'Second'; "
	. "document.getElementById('p').textContent = 'It has come, too.' },"
	. ' 1000)</script>');

my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $demo = BrowserTask::Scenario::Site->new;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub said { return join ' ', map { $_->{text} } @{ $_[0]{content}{sections} } }

my %begun;
# All runs go on beside each other.
sub begin {
	my ($name, $template, %inputs) = @_;
	$begun{$name} = $c->run($template, \%inputs, { mode => 'async' })
	    ->{runId};
}

sub result {
	my ($name) = @_;
	my $r = ended($c, $begun{$name}) or return {};
	diag explain $r if !$r->{output}{result};
	return ($r->{output}{result} // {}, $r);
}

# Text, pending of the item, pending in the artifact.
sub pages {
	my ($result, $r) = result(@_);
	my $full = JSON::PP->new->utf8->decode(artifact($c,
		artifact_of($r, 'extraction')->{artifact_id}));
	return map { [ said($full->[$_]), $result->{items}[$_]{pending},
		$full->[$_]{pending} ] } 0 .. $#$full;
}

my %form = (startUrl => $site->url('/form'), settle => 2500);
my %way = (search_extract => { %form, query => 'harbour' },
	submit_and_verify => { %form, fields => [ { name => 'Name',
		value => 'Ada' } ] });
begin('batch', 'batch_extract_pages', urls => [ (map { $site->url($_) }
	qw(/timer /clock /socket /refresh /still /check)),
	$demo->url('/fetch-never') ], concurrency => 5);
begin('slow', 'batch_extract_pages', urls => [ $site->url('/slowcheck') ],
	settle => 4000);
begin('late', 'multi_tab_compare', settle => 2500,
	urls => [ map { $site->url($_) } qw(/coming /still) ]);
begin('soon', 'multi_tab_compare', urls => [ map { $site->url($_) }
	qw(/timer /still) ]);
begin($_, $_, %{ $way{$_} }) for keys %way;
begin('list', 'paginated_extract', startUrl => $site->url('/coming'),
	settle => 2500);
begin('never', 'paginated_extract', startUrl => $demo->url('/fetch-never'),
	pagination => { maxPages => 1 });
begin('refresh', 'paginated_extract', startUrl => $site->url('/refresh'),
	pagination => { maxPages => 1 });

my @pages = pages('batch');
is_deeply([ map { $_->[1] } @pages ], [ { timers => 1 }, { timers => 1 },
	{ connections => 1 }, { refreshMs => 30000 }, undef, undef,
	{ requests => 1 } ],
	'an item says what its page waits for: near timers, repeated ones, '
	. 'connections, a refresh, requests')
    or diag explain \@pages;
is_deeply([ map { $_->[2] } @pages ], [ map { $_->[1] } @pages ],
	'... and the artifact');
is($pages[5][0], 'It has come.', 'a page that checks and loads itself anew is '
	. 'read as it is then');
my ($slow) = pages('slow');
is($slow->[0], 'It has come.', '... a slow one, too, if settle waits for it');
my ($late) = result('late');
is_deeply($late->{diffs}[3]{differing}, [ 1, 0 ], 'multi_tab_compare: settle')
    or diag explain $late->{diffs};
my ($soon) = result('soon');
is_deeply([ map { $_->{pending} } @{ $soon->{snapshots} } ],
	[ { timers => 1 }, undef ], '... and pending');
for my $template (sort keys %way) {
	my ($r) = result($template);
	is(said($r), 'It has come. Next', "$template: settle");
	is($r->{pending}, undef, '... and nothing is pending');
}
my ($list) = result('list');
is_deeply([ map { said($_) } @{ $list->{pages} } ],
	[ 'It has come. Next', 'It has come, too.' ],
	'paginated_extract: settle, on each page');
($list) = result('never');
is_deeply($list->{pages}[0]{pending}, { requests => 1 }, '... and pending');
($list) = result('refresh');
is_deeply($list->{pages}[0]{pending}, { refreshMs => 30000 }, '... a refresh');
is($c->run('search_extract', { %{ $way{search_extract} }, settle => 'never' })
	->{errorCode}, 'INVALID_PARAMETER', 'another way to settle is refused');
is($i->stop, 0, 'stops');
$_->stop for $site, $demo;
done_testing();
