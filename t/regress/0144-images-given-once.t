#!/usr/bin/perl
# A list that grows gave each text once, but its first images again with each
# page, and those that came later not at all: only twenty are told of a page.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use File::Temp qw(tempdir);
use Test::More;

my $dir = tempdir('bt-images-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;
open(my $fh, '>', "$dir/p.html") or die "$!\n";
print $fh <<'HTML';
<!DOCTYPE html><meta charset=utf-8><title>Boats</title><h1>Boats</h1>
<ul id=l></ul><button>Load more</button><script>
let n = 0;
function more() {
  for (const end = n + 15; n < end; n++) {
    l.insertAdjacentHTML('beforeend', `<li>Boat of the year ${1900 + n},
      called ${String.fromCharCode(65 + n)}la, with a red sail
      <img src="/boat${n}.png" width=40 height=40 alt="boat ${n}"></li>`);
  }
  document.querySelector('button').hidden = n === 45;
}
document.querySelector('button').onclick = more;
more();
</script>
HTML
close $fh or die "$!\n";
my $site = BrowserTask::Scenario::Site->new(directory => $dir);
my $i = BrowserTask::Harness->new->start;
my $c = client($i);
my $s = $c->run('paginated_extract', { startUrl => $site->url('/p') },
	{ mode => 'async' });
my $r = ended($c, $s->{runId});
my @got = map { [ map { $_->{alt} } @{ $_->{content}{images} } ] }
    @{ $r->{output}{result}{pages} };
is_deeply(\@got, [ map { my $from = $_; [ map { "boat $_" }
	$from .. $from + 14 ] } 0, 15, 30 ], 'each image is given once')
    or diag explain \@got;
is($i->stop, 0, 'stops');
$site->stop;
done_testing();
